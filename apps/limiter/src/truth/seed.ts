import type { Context } from '../context.ts';
import { SCRIPTS } from '../scripts.ts';
import type { KeyRow, MonthRow, OrgRow } from './rows.ts';

const DAY_S = 86_400;
/** A revoked key stays refused here far longer than a read of Postgres that began before it was revoked. */
export const REVOKED_KEEP_S = 7 * DAY_S;
/** From its seeding, which is in the month or just after it. */
const MONTH_KEEP_S = 70 * DAY_S;

/** Runs seed_key.lua. */
export async function seedKey({ store, names }: Context, key: KeyRow): Promise<void> {
  await store.run(
    SCRIPTS.seedKey,
    [names.key(key.orgId, key.keyId), names.hashes(key.orgId)],
    [
      key.keyId,
      key.hash.toString('hex'),
      key.revoked ? 'revoked' : 'active',
      key.requestsPerMinute,
      key.requestsAtOnce,
      key.expiresAtMs,
      key.modelIds ? key.modelIds.join(' ') : '*',
      REVOKED_KEEP_S,
    ],
  );
}

/** Runs write_org.lua. */
export async function writeOrg({ store, names }: Context, org: OrgRow): Promise<void> {
  await store.run(
    SCRIPTS.writeOrg,
    [names.org(org.orgId)],
    [
      org.version,
      org.images ? 1 : 0,
      org.requestsPerMinute,
      org.requestsAtOnce,
      org.requestsPerMonth,
      org.tokensPerMonth,
    ],
  );
}

/** Runs seed_month.lua. */
export async function seedMonth(
  { store, names }: Context,
  orgId: string,
  month: string,
  totals: MonthRow,
): Promise<void> {
  await store.run(
    SCRIPTS.seedMonth,
    [names.month(orgId, month)],
    [totals.requests, totals.chargedTokens, MONTH_KEEP_S],
  );
}

/** Runs revoke_key.lua. */
export async function revokeKey(
  { store, names }: Context,
  orgId: string,
  keyId: string,
  hash: Buffer,
): Promise<void> {
  await store.run(
    SCRIPTS.revokeKey,
    [names.key(orgId, keyId), names.hashes(orgId)],
    [keyId, hash.toString('hex'), REVOKED_KEEP_S],
  );
}
