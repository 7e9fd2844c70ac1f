import type { Actor, MembershipView, RefusalCode, Result } from '@tidegate/control';
import { headers } from 'next/headers';
import { notFound, redirect } from 'next/navigation';
import { cache } from 'react';
import { isUse } from '../server/auth/sessions.ts';
import { CLIENT_ADDRESS_HEADER, PATH_HEADER } from '../server/http/names.ts';
import { services } from '../server/services.ts';
import { signInPath, twoFactorPath } from './next-path.ts';
import { SIGNED_OUT } from './words.ts';

export type UserActor = Actor & { readonly kind: 'user' };

export interface CurrentUser {
  readonly actor: UserActor;
  readonly name: string;
  readonly sessionId: string;
  /** Whether the user has a second factor here. */
  readonly twoFactor: boolean;
}

/** The signed-in user. Read once per request. */
export const currentUser = cache(async (): Promise<CurrentUser | null> => {
  const own = new Headers(await headers());
  const session = await services().sessions.current(own, isUse(own));
  if (!session) return null;
  const { id: userId, email, name, twoFactorEnabled } = session.user;
  const actor: UserActor = { kind: 'user', userId, email };
  return { actor, name, sessionId: session.id, twoFactor: twoFactorEnabled === true };
});

/** Redirects to the sign-in page, which leads back, if no one is signed in. */
export async function requireUser(): Promise<CurrentUser> {
  return (await currentUser()) ?? redirect(signInPath((await headers()).get(PATH_HEADER) ?? '/'));
}

const memberships = cache(async (userId: string, email: string): Promise<MembershipView[]> => {
  const list = await services().control.listMemberships({ kind: 'user', userId, email });
  return list.ok ? list.value : [];
});

export const membershipsOf = ({ actor }: CurrentUser) => memberships(actor.userId, actor.email);

export interface InOrg extends CurrentUser {
  readonly org: MembershipView;
  readonly memberships: readonly MembershipView[];
}

/**
 * Finds the organization of a screen. Answers 404 if the user does not belong to it. Redirects to
 * the page that sets up two-factor if the organization requires it and the user has none.
 */
export async function requireOrg(slug: string): Promise<InOrg> {
  const user = await requireUser();
  const all = await membershipsOf(user);
  const org = all.find((each) => each.slug === slug);
  if (!org) return notFound();
  if (org.lacksTwoFactor) redirect(twoFactorPath((await headers()).get(PATH_HEADER) ?? `/o/${slug}/keys`));
  return { ...user, org, memberships: all };
}

const NOTHING_THERE: ReadonlySet<RefusalCode> = new Set(['not_found', 'invalid_input', 'forbidden']);

/**
 * Unwraps what a screen reads. Answers 404 if it does not exist, if it cannot exist because no id
 * looks like that, or if the role may not read it. Any other refusal leads to the error page.
 */
export function read<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  if (NOTHING_THERE.has(result.refusal.code)) notFound();
  throw new Error(result.refusal.message);
}

/** Runs an action as the signed-in user. The action also gets the session's id. */
export async function asUser<T>(
  action: (actor: UserActor, sessionId: string) => Promise<Result<T>>,
): Promise<Result<T>> {
  const user = await currentUser();
  if (user) return action(user.actor, user.sessionId);
  return { ok: false, refusal: { code: 'forbidden', message: SIGNED_OUT } };
}

export const callerAddress = async (): Promise<string> =>
  (await headers()).get(CLIENT_ADDRESS_HEADER) ?? 'unknown';
