const SIGN_IN = '/sign-in';
/** An origin that no site has. A URL that leaves the site gets another origin. */
const NOWHERE = 'http://console.invalid';
/** The parameter by which the framework marks its own requests for a page. */
const OWN_PARAMETER = '_rsc';

/**
 * Returns a path of this console with its query, or `/` for anything else. So no link can lead to
 * another site after sign-in.
 */
export function sameSitePath(wished: unknown): string {
  if (typeof wished !== 'string' || !wished.startsWith('/') || !URL.canParse(wished, NOWHERE)) return '/';
  const { origin, pathname, searchParams, search } = new URL(wished, NOWHERE);
  // A path that starts with two slashes would name another site.
  if (origin !== NOWHERE || pathname.startsWith('//')) return '/';
  if (!searchParams.has(OWN_PARAMETER)) return pathname + search;
  searchParams.delete(OWN_PARAMETER);
  return searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`;
}

/** The path of the sign-in page, which leads back to the requested path. */
export const signInPath = (asked: string, error?: string): string => pathTo(SIGN_IN, asked, error);

/** The path of the page that asks for the second factor, which leads on to the requested path. */
export const secondStepPath = (asked: string): string => pathTo(`${SIGN_IN}/two-factor`, asked);

/** The path of the page that sets up two-factor, which leads back to the requested path. */
export const twoFactorPath = (asked: string): string => pathTo('/account/two-factor', asked);

function pathTo(page: string, asked: string, error?: string): string {
  const next = sameSitePath(asked);
  const query = new URLSearchParams({ ...(next === '/' ? {} : { next }), ...(error ? { error } : {}) });
  return query.size === 0 ? page : `${page}?${query}`;
}
