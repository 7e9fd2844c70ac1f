import { randomBase62 } from '@tidegate/contracts';
import { DAY_MS, dayOf, monthEndMs, WINDOW_MS } from '@tidegate/limits';
import { unexpected } from '../admission/decision.ts';
import { LimiterError } from '../limiter-error.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import { limitFields } from './limits.ts';
import type { KeyRow, MonthRow, OrgRow } from './rows.ts';

const DAY_S = 86_400;
/**
 * Keeps a revoked key refused in Redis long after any read of Postgres that began before the
 * revocation has ended.
 */
export const REVOKED_KEEP_S = 7 * DAY_S;
/**
 * How long Redis keeps a key that has expired, counted from its expiry or from its last seeding.
 * That is longer than any request that was made with the key can run.
 */
const EXPIRED_KEEP_S = DAY_S;
/** Counted from the seeding, which happens in the month or just after it. */
export const MONTH_KEEP_S = 70 * DAY_S;
/** The prefixes of the fields that settle.lua writes: notes, and how many of them each day has. */
const SETTLED = 'settled:';
const NOTED_DAY = 'day:';
const LIFE_LENGTH = 12;
/**
 * Lasts until every admission before the loss has left its window. That is much longer than a
 * lease, so by then whoever held something has restored it or is dead.
 */
const RECOVER_US = WINDOW_MS * 1_000;

export type OrgWritten = 'written' | 'kept' | 'recovering' | 'another_life';

export async function seedKey({ store, names, clock }: ScriptDeps, key: KeyRow): Promise<void> {
  const hash = key.hash.toString('hex');
  const expiresInS = Math.max(0, Math.ceil((key.expiresAtMs - clock.nowMs()) / 1_000));
  await store.run(
    SCRIPTS.seedKey,
    [names.key(key.orgId, key.keyId), names.hash(key.orgId, hash)],
    [
      key.keyId,
      hash,
      key.revoked ? 'revoked' : 'active',
      key.requestsPerMinute,
      key.requestsAtOnce,
      key.expiresAtMs,
      key.modelIds ? key.modelIds.join(' ') : '*',
      REVOKED_KEEP_S,
      key.expiresAtMs === 0 ? 0 : expiresInS + EXPIRED_KEEP_S,
    ],
  );
}

/**
 * Resolves to the name of each organization's current life in Redis. Names the lives that have no
 * name yet.
 */
export async function ensureLifeNames(
  { store, names }: ScriptDeps,
  orgIds: readonly string[],
): Promise<Map<string, string>> {
  const lives = await Promise.all(
    orgIds.map(async (orgId) => {
      const named = store.command('hsetnx', names.org(orgId), 'life', randomBase62(LIFE_LENGTH));
      const [, life] = await Promise.all([named, store.command('hget', names.org(orgId), 'life')]);
      // Redis lost its data in between.
      if (typeof life !== 'string')
        throw new LimiterError('state', "an organization's state was lost while it was being created");
      return [orgId, life] as const;
    }),
  );
  return new Map(lives);
}

export async function unnameOrg({ store, names }: ScriptDeps, orgId: string): Promise<void> {
  await store.run(SCRIPTS.unnameOrg, [names.org(orgId)], []);
}

/**
 * Runs write_org.lua.
 *
 * @param overwritten a version in Redis to be overwritten although it is newer
 */
export async function writeOrg(
  { store, names, clock }: ScriptDeps,
  org: OrgRow,
  overwritten: number | null = null,
): Promise<OrgWritten> {
  const reply = await store.run(
    SCRIPTS.writeOrg,
    [names.org(org.orgId)],
    [
      clock.offsetUs,
      org.life,
      org.firstLife ? 1 : 0,
      RECOVER_US,
      org.version,
      overwritten ?? '',
      'images',
      org.images ? 1 : 0,
      ...limitFields(org),
    ],
  );
  const [code] = reply;
  if (code === 'written' || code === 'kept' || code === 'recovering' || code === 'another_life') return code;
  throw unexpected(reply);
}

/**
 * What an unseeded month already holds: restored reservations, and those among them that have been
 * settled since.
 */
export interface UnseededMonth {
  readonly fields: number;
  /** Charged tokens by reservation id. */
  readonly settled: ReadonlyMap<string, number>;
  /** The days (UTC) of these reservations. */
  readonly days: readonly string[];
}

const NOTHING_YET: UnseededMonth = { fields: 0, settled: new Map(), days: [] };

export async function readUnseeded(
  { store, names }: ScriptDeps,
  orgId: string,
  month: string,
): Promise<UnseededMonth> {
  const all = Object.entries((await store.command('hgetall', names.month(orgId, month))) as object);
  const ofPrefix = (prefix: string) =>
    all
      .filter(([field]) => field.startsWith(prefix))
      .map(([field, value]) => [field.slice(prefix.length), Number(value)] as const);
  const settled = new Map(ofPrefix(SETTLED));
  const noted = ofPrefix(NOTED_DAY);
  // A limiter of the previous release notes no days. Then it may be any day of the month.
  const isComplete = noted.reduce((sum, [, count]) => sum + count, 0) === settled.size;
  const days = isComplete ? noted.map(([day]) => dayOf(Number(day) * DAY_MS)) : daysOf(month);
  return { fields: all.length, settled, days };
}

/** All days of a month. */
function daysOf(month: string): string[] {
  const days: string[] = [];
  for (let ms = Date.parse(`${month}-01`); ms < monthEndMs(month); ms += DAY_MS) days.push(dayOf(ms));
  return days;
}

/**
 * Runs seed_month.lua. Resolves to false if something was settled since `unseeded` was read. If the
 * organization is missing or recovering, nothing is seeded, and the next script that needs the
 * month says so.
 */
export async function seedMonth(
  { store, names, clock }: ScriptDeps,
  orgId: string,
  month: string,
  totals: MonthRow,
  unseeded: UnseededMonth = NOTHING_YET,
): Promise<boolean> {
  const [code] = await store.run(
    SCRIPTS.seedMonth,
    [names.month(orgId, month), names.org(orgId)],
    [totals.requests, totals.chargedTokens, MONTH_KEEP_S, unseeded.fields, clock.offsetUs],
  );
  return code !== 'changed';
}

export async function revokeKey(
  { store, names }: ScriptDeps,
  orgId: string,
  keyId: string,
  hash: Buffer,
): Promise<void> {
  const hex = hash.toString('hex');
  await store.run(
    SCRIPTS.revokeKey,
    [names.key(orgId, keyId), names.hash(orgId, hex)],
    [keyId, hex, REVOKED_KEEP_S],
  );
}
