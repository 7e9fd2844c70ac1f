import type { Role } from '@tidegate/control';
import { screensFor } from './screens.ts';

/** The cookie with the organization and the screen that were open last: `demo/usage`. */
export const LAST_PLACE_COOKIE = 'tidegate-last';

/** What the cookie says for a page. Null: the page is not in an organization. */
export const placeOf = (pathname: string): string | null =>
  /^\/o\/([a-z0-9-]+\/[a-z]+)(\/|$)/.exec(pathname)?.[1] ?? null;

export interface OrgOfUser {
  readonly slug: string;
  readonly role: Role;
}

/**
 * The path of the organization and the screen that were open last. Null: unknown, or the user no
 * longer has them. Another user of the same browser may have left the cookie.
 */
export function lastPath(place: string | undefined, memberships: readonly OrgOfUser[]): string | null {
  const [slug, screen] = (place ?? '').split('/');
  const org = memberships.find((each) => each.slug === slug);
  const known = org && screensFor(org.role).find(({ path }) => path === screen);
  return known ? `/o/${org.slug}/${known.path}` : null;
}

/**
 * The path of the same screen in another organization, or of its keys if the role does not see it
 * there.
 */
export const sameScreenIn = (org: OrgOfUser, pathname: string): string =>
  lastPath(`${org.slug}/${placeOf(pathname)?.split('/')[1]}`, [org]) ?? `/o/${org.slug}/keys`;
