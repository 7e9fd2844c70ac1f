const SIGN_IN = '/sign-in';
/** Of no site: whatever leaves it has another origin. */
const NOWHERE = 'http://console.invalid';
/** How the framework marks its own requests for a page. */
const OWN_PARAMETER = '_rsc';

/** A path of this console, with its query; anything else is its first page. A link must not lead elsewhere after signing in. */
export function sameSitePath(wished: unknown): string {
  if (typeof wished !== 'string' || !wished.startsWith('/') || !URL.canParse(wished, NOWHERE)) return '/';
  const { origin, pathname, searchParams, search } = new URL(wished, NOWHERE);
  // Two slashes at the beginning would name another site.
  if (origin !== NOWHERE || pathname.startsWith('//')) return '/';
  if (!searchParams.has(OWN_PARAMETER)) return pathname + search;
  searchParams.delete(OWN_PARAMETER);
  return searchParams.size === 0 ? pathname : `${pathname}?${searchParams}`;
}

/** The sign-in page, which leads back to the path that was asked for. */
export function signInPath(asked: string, error?: string): string {
  const next = sameSitePath(asked);
  const query = new URLSearchParams({ ...(next === '/' ? {} : { next }), ...(error ? { error } : {}) });
  return query.size === 0 ? SIGN_IN : `${SIGN_IN}?${query}`;
}
