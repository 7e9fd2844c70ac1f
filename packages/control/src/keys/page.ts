import { dayOf, HOUR_MS } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { orgField, reference } from '../fields.ts';
import { lockAccount, lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { type CreatedKey, insertKey } from './create.ts';
import { removeRevoked } from './keys.ts';
import { type PageKeyFilter, type RevokedPageKey, revokePageKeys } from './revoke-pages.ts';
import { PAGE_KEY } from './view.ts';

/*
 * Keys that a page creates for itself, so that an owner can try models without a key at hand. In
 * the list, the limits and the audit trail, such a key is like any other; usage shows all of them
 * as one. It ends with its page, when any session of its owner ends, and once its owner may no
 * longer create one (revoke-pages.ts). If none of this is reported, the limiter refuses it after an
 * hour, and metering deletes it.
 */

const LIFE_MS = HOUR_MS;
const LIMITS = { requestsPerMinute: 20, requestsAtOnce: 2 };

const createInput = z.object({
  org: orgField,
  /** The id of the session in which the page is shown. */
  session: reference('Session'),
});
export type CreatePageKeyInput = z.input<typeof createInput>;

export interface CreatedPageKey {
  readonly id: string;
  /** The key's value. It is shown only now and stored nowhere. */
  readonly key: string;
}

/**
 * Creates a key for the page that the user has open. A user has only one in an organization: the
 * one before ends, as if its page had been left. The key lasts no longer than the session would
 * without further use.
 */
export async function createPageKey(
  deps: ControlDeps,
  actor: Actor,
  input: CreatePageKeyInput,
): Promise<Result<CreatedPageKey>> {
  const parsed = parseInput(createInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'key.create');
  if (!org.ok) return org;
  if (actor.kind !== 'user') return refuse('forbidden', 'Only a page of the console may do this.');
  const orgId = org.value.id;
  const { userId } = actor;
  const ended = await end(deps, actor, { userIds: [userId], orgIds: [orgId] });
  if (!ended.ok) return ended;
  const made = await deps.db.$transaction(async (tx): Promise<Result<Made>> => {
    // Someone who has lost the right meanwhile has had all their page keys ended. This one would
    // remain.
    await lockAccount(tx, userId);
    const still = await lockedAccess(deps, tx, actor, orgId, 'key.create');
    if (!still.ok) return still;
    const endsMs = await endOfSession(deps, tx, userId, parsed.value.session);
    if (endsMs <= deps.now()) return refuse('conflict', 'Your session has ended. Sign in again.');
    const expiresAt = new Date(Math.min(deps.now() + LIFE_MS, endsMs));
    // Another tab of the user may have created one meanwhile.
    const others = await revokePageKeys(tx, actor, deps.now(), { userIds: [userId], orgIds: [orgId] });
    // A limiter of the previous release knows only days.
    const settings = { name: PAGE_KEY, ...LIMITS, expiresOn: dayOf(expiresAt.getTime()) };
    const created = await insertKey(deps, tx, actor, orgId, settings, { userId, expiresAt });
    return ok({ created, others });
  });
  if (!made.ok) return made;
  const { created, others } = made.value;
  // If no limiter can be reached, they are refused within a minute of one being back.
  for (const other of others) await removeRevoked(deps, actor, orgId, other);
  return created.ok ? ok({ id: created.value.id, key: created.value.key }) : created;
}

interface Made {
  readonly created: Result<CreatedKey>;
  readonly others: readonly RevokedPageKey[];
}

/** When a session ends if it is not used again, in Unix milliseconds. 0: it has ended. */
async function endOfSession(
  { sessionIdleMs = Number.POSITIVE_INFINITY }: ControlDeps,
  tx: Tx,
  userId: string,
  id: string,
): Promise<number> {
  const select = { expiresAt: true, lastSeenAt: true };
  const session = await tx.session.findFirst({ where: { id, userId }, select });
  if (!session) return 0;
  return Math.min(session.expiresAt.getTime(), session.lastSeenAt.getTime() + sessionIdleMs);
}

const endInput = z.object({ org: orgField, id: reference('Key id') });
export type EndPageKeyInput = z.input<typeof endInput>;

/** Revokes and deletes the key of the user's page. It is no fault if the key no longer exists. */
export async function endPageKey(
  deps: ControlDeps,
  actor: Actor,
  input: EndPageKeyInput,
): Promise<Result<null>> {
  const parsed = parseInput(endInput, input);
  if (!parsed.ok) return parsed;
  // It is the user's own key, so this asks for no role that may have been taken away since.
  const org = await access(deps, actor, parsed.value.org, 'org.read');
  if (!org.ok) return org;
  if (actor.kind !== 'user') return ok(null);
  const keyId = parsed.value.id;
  return end(deps, actor, { userIds: [actor.userId], orgIds: [org.value.id], keyId });
}

async function end(deps: ControlDeps, actor: Actor, pages: PageKeyFilter): Promise<Result<null>> {
  const keys = await deps.db.$transaction((tx) => revokePageKeys(tx, actor, deps.now(), pages));
  for (const key of keys) {
    const removed = await removeRevoked(deps, actor, key.orgId, key);
    if (!removed.ok) return removed;
  }
  return ok(null);
}
