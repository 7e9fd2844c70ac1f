import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { Action } from '../access/policy.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { orgField, reference } from '../fields.ts';
import { holdOrg, lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { unreached } from '../unreached.ts';
import { type KeyRecord, type KeyView, keyInclude, keyView } from './view.ts';

const listInput = z.object({ org: orgField });
export type ListKeysInput = z.input<typeof listInput>;

/** Lists every key of the organization, newest first, revoked ones included, without values. */
export async function listKeys(
  deps: ControlDeps,
  actor: Actor,
  input: ListKeysInput,
): Promise<Result<KeyView[]>> {
  const parsed = parseInput(listInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'key.list');
  if (!org.ok) return org;
  const rows = await deps.db.apiKey.findMany({
    where: { orgId: org.value.id },
    include: keyInclude,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
  return ok(rows.map((row) => keyView(row, deps.now())));
}

const keyInput = z.object({ org: orgField, id: reference('Key id') });
export type KeyInput = z.input<typeof keyInput>;

/**
 * Revokes a key for good. Once this has resolved ok, no gateway admits the key. `notInForce`: the
 * key is marked as revoked, but the limiter could not be reached and may accept the key until it
 * rereads Postgres. It is safe to revoke again.
 */
export async function revokeKey(deps: ControlDeps, actor: Actor, input: KeyInput): Promise<Result<KeyView>> {
  const found = await findKey(deps, actor, input, 'key.revoke');
  if (!found.ok) return found;
  const { orgId, row } = found.value;
  const at = new Date(deps.now());
  const marked = await deps.db.$transaction(async (tx): Promise<Result<null>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, 'key.revoke');
    if (!still.ok) return still;
    const { count } = await tx.apiKey.updateMany({
      where: { id: row.id, revokedAt: null },
      data: { revokedAt: at },
    });
    const details = { name: row.name, prefix: row.prefix };
    const event = { orgId, action: 'key.revoke', target: row.id, details } as const;
    if (count > 0) await audit(tx, actor, deps.now(), [event]);
    return ok(null);
  });
  if (!marked.ok) return marked;
  const untold = await tellLimiter(deps, actor, orgId, row);
  const revoked = ok(keyView({ ...row, revokedAt: row.revokedAt ?? at }, deps.now()));
  return untold === null ? revoked : { ...revoked, notInForce: untold };
}

/** Removes a revoked key from the list. Its usage stays. */
export async function deleteKey(deps: ControlDeps, actor: Actor, input: KeyInput): Promise<Result<KeyView>> {
  const found = await findKey(deps, actor, input, 'key.delete');
  if (!found.ok) return found;
  const { orgId, row } = found.value;
  if (!row.revokedAt) return refuse('conflict', 'Only a revoked key can be deleted: revoke it first.', 'id');
  const lock = (tx: Tx) => lockedAccess(deps, tx, actor, orgId, 'key.delete');
  const removed = await removeRevoked(deps, actor, orgId, row, lock);
  return removed.ok ? ok(keyView(row, deps.now())) : removed;
}

/**
 * Deletes the row of a revoked key. Without the row, the key could not be revoked again. So the
 * limiter must know of the revocation first.
 *
 * @param lock locks the organization, and may refuse
 */
export async function removeRevoked(
  deps: ControlDeps,
  actor: Actor,
  orgId: string,
  { id, name, prefix, hash }: Pick<FoundKey['row'], 'id' | 'name' | 'prefix' | 'hash'>,
  lock = async (tx: Tx): Promise<Result<unknown>> => ok(await holdOrg(tx, orgId)),
): Promise<Result<null>> {
  const untold = await tellLimiter(deps, actor, orgId, { id, hash });
  if (untold !== null) return refuse('unavailable', untold);
  return deps.db.$transaction(async (tx): Promise<Result<null>> => {
    const locked = await lock(tx);
    if (!locked.ok) return locked;
    const { count } = await tx.apiKey.deleteMany({ where: { id } });
    const event = { orgId, action: 'key.delete', target: id, details: { name, prefix } } as const;
    if (count > 0) await audit(tx, actor, deps.now(), [event]);
    return ok(null);
  });
}

type FoundKey = { readonly orgId: string; readonly row: KeyRecord & { readonly hash: Uint8Array } };

export async function findKey(
  deps: ControlDeps,
  actor: Actor,
  input: KeyInput,
  action: Action,
): Promise<Result<FoundKey>> {
  const parsed = parseInput(keyInput, input);
  if (!parsed.ok) return parsed;
  const { id } = parsed.value;
  const org = await orgOfKey(deps, actor, parsed.value, action);
  if (!org.ok) return org;
  const row = await deps.db.apiKey.findFirst({ where: { id, orgId: org.value }, include: keyInclude });
  return row ? ok({ orgId: org.value, row }) : refuse('not_found', `There is no key "${id}".`, 'id');
}

/** Finds the organization of a key. If the input names an organization, it must be that one. */
async function orgOfKey(
  deps: ControlDeps,
  actor: Actor,
  { org: ref, id }: z.output<typeof keyInput>,
  action: Action,
): Promise<Result<string>> {
  const key =
    ref === undefined ? await deps.db.apiKey.findUnique({ where: { id }, select: { orgId: true } }) : null;
  if (ref === undefined && !key) return refuse('not_found', `There is no key "${id}".`, 'id');
  const org = await access(deps, actor, ref ?? key?.orgId, action);
  if (org.ok) return ok(org.value.id);
  return ref === undefined && org.refusal.code === 'not_found'
    ? refuse('not_found', `There is no key "${id}".`, 'id')
    : org;
}

/**
 * Null: the limiter knows that the key is revoked. Otherwise: why it does not, and what follows.
 */
async function tellLimiter(
  { limiter }: ControlDeps,
  actor: Actor,
  orgId: string,
  key: { id: string; hash: Uint8Array },
): Promise<string | null> {
  try {
    await limiter.revokeKey({ orgId, keyId: key.id, keyHash: key.hash });
    return null;
  } catch (error) {
    return `The key is marked as revoked but may still be accepted: ${unreached('limiter', error, actor)}. It will be refused within a minute of the limiter being back.`;
  }
}
