import type { Actor } from '../access/access.ts';
import { type AuditEntry, audit } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { holdOrg, lockAccount } from '../members/lock.ts';
import { type Done, ok, type Result, refuse } from '../result.ts';
import { removeRevoked } from './keys.ts';

/** A page key that is revoked in Postgres. The limiter may not know of that yet. */
export interface RevokedPageKey {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly prefix: string;
  readonly hash: Uint8Array;
  /** The user whose page it belonged to. */
  readonly pageUser: { readonly email: string } | null;
}

/** Page keys of these users: all that they have, or only those that match every field given. */
export interface PageKeyFilter {
  readonly userIds: readonly string[];
  readonly orgIds?: readonly string[];
  readonly keyId?: string;
}

/**
 * Revokes page keys of users who may no longer have them, in the transaction that takes that right
 * away. They can create none meanwhile if the members of their organizations are locked, or their
 * accounts. Once the transaction has ended, pass the keys to `endRevokedPages`.
 */
export async function revokePageKeys(
  tx: Tx,
  actor: Actor,
  atMs: number,
  { userIds, orgIds, keyId }: PageKeyFilter,
): Promise<RevokedPageKey[]> {
  const keys = await tx.apiKey.findMany({
    where: {
      pageUserId: { in: [...userIds] },
      ...(orgIds === undefined ? {} : { orgId: { in: [...orgIds] } }),
      ...(keyId === undefined ? {} : { id: keyId }),
    },
    include: { pageUser: { select: { email: true } } },
    orderBy: { orgId: 'asc' },
  });
  for (const orgId of new Set(keys.map((key) => key.orgId))) await holdOrg(tx, orgId);
  const revoked = await tx.apiKey.updateManyAndReturn({
    where: { id: { in: keys.map(({ id }) => id) }, revokedAt: null },
    data: { revokedAt: new Date(atMs) },
    select: { id: true, orgId: true, name: true, prefix: true },
  });
  const entries = revoked.map(({ id, orgId, name, prefix }): AuditEntry => {
    return { orgId, action: 'key.revoke', target: id, details: { name, prefix } };
  });
  await audit(tx, actor, atMs, entries);
  return keys;
}

/**
 * Tells the limiter of revoked page keys, and deletes their rows. Once this has resolved without
 * `notInForce`, no gateway admits them.
 *
 * @param done the result of what took away the right to them
 */
export async function endRevokedPages<T>(
  deps: ControlDeps,
  actor: Actor,
  keys: readonly RevokedPageKey[],
  done: Done<T>,
): Promise<Done<T>> {
  let ended = done;
  for (const key of keys) {
    const removed = await removeRevoked(deps, actor, key.orgId, key);
    if (removed.ok) continue;
    const whose = key.pageUser?.email ?? 'Someone';
    const notInForce = `The change is saved. ${whose} had a Try it key. ${removed.refusal.message}`;
    ended = { ...done, notInForce };
  }
  return ended;
}

/**
 * Ends all page keys of a user after one of the user's sessions has ended, whichever session
 * created them. Pages that are still open create new ones. `notInForce`: no limiter could be
 * reached.
 */
export async function endPageKeys(deps: ControlDeps, actor: Actor): Promise<Result<null>> {
  if (actor.kind !== 'user') return refuse('forbidden', 'Operators have no page.');
  const keys = await deps.db.$transaction(async (tx) => {
    await lockAccount(tx, actor.userId);
    return revokePageKeys(tx, actor, deps.now(), { userIds: [actor.userId] });
  });
  return endRevokedPages(deps, actor, keys, ok(null));
}
