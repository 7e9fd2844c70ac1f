import type { Db } from '@tidegate/db';
import { expiryInstantMs } from '@tidegate/limits';
import { type EnforcedColumn, type EnforcedValues, limitsFrom } from './limits.ts';

/** A key as Postgres has it. */
export interface KeyRow {
  readonly keyId: string;
  readonly orgId: string;
  /** SHA-256 of the value. */
  readonly hash: Buffer;
  readonly revoked: boolean;
  readonly requestsPerMinute: number;
  readonly requestsAtOnce: number;
  /** Unix time from which the key is refused. 0 means never. */
  readonly expiresAtMs: number;
  /** Null means all models. */
  readonly modelIds: readonly string[] | null;
}

/** The current limits of an organization. */
export interface OrgRow extends EnforcedValues {
  readonly orgId: string;
  readonly version: number;
  readonly images: boolean;
  /** The life of its state in Redis at the time of the read. */
  readonly life: string;
  /** Whether this is the first life, so that no earlier state can have been lost. */
  readonly firstLife: boolean;
}

export interface MonthRow {
  readonly requests: number;
  readonly chargedTokens: number;
}

export async function readKey(
  db: Db,
  where: { readonly hash: Uint8Array<ArrayBuffer> } | { readonly id: string },
): Promise<KeyRow | null> {
  const row = await db.apiKey.findUnique({ where, include: { models: { select: { modelId: true } } } });
  if (!row) return null;
  return {
    keyId: row.id,
    orgId: row.orgId,
    hash: Buffer.from(row.hash),
    revoked: row.revokedAt !== null,
    requestsPerMinute: row.requestsPerMinute,
    requestsAtOnce: row.requestsAtOnce,
    expiresAtMs: expiryOf(row),
    modelIds: row.allModels ? null : row.models.map(({ modelId }) => modelId),
  };
}

function expiryOf({ expiresAt, expiresOn }: { expiresAt: Date | null; expiresOn: Date | null }): number {
  if (expiresAt) return expiresAt.getTime();
  return expiresOn ? expiryInstantMs(expiresOn.toISOString().slice(0, 10)) : 0;
}

interface RawOrg extends Readonly<Record<EnforcedColumn, number | bigint>> {
  readonly org_id: string;
  readonly limiter_life: string | null;
  readonly limits_version: bigint;
  readonly images: boolean;
}

/**
 * Reads the limits of organizations. Also stores the life of each organization that had none. That
 * happens first, so that every later caller gets the same answer, whatever life it passes. Unknown
 * organizations are left out.
 */
export async function readOrgs(db: Db, lives: ReadonlyMap<string, string>): Promise<OrgRow[]> {
  const ids = [...lives.keys()];
  await db.$executeRaw`
    UPDATE org SET limiter_life = seen.life
    FROM unnest(${ids}::text[], ${[...lives.values()]}::text[]) AS seen (id, life)
    WHERE org.id = seen.id AND org.limiter_life IS NULL`;
  // One statement, so that version and values belong together.
  const rows = await db.$queryRaw<RawOrg[]>`
    SELECT p.*, o.id AS org_id, o.limiter_life, o.limits_version
    FROM org o JOIN plan p ON p.id = o.plan_id
    WHERE o.id = ANY(${ids}::text[])`;
  return rows.map((row) => {
    const life = lives.get(row.org_id) ?? '';
    return {
      ...limitsFrom(row),
      orgId: row.org_id,
      version: Number(row.limits_version),
      images: row.images,
      life,
      firstLife: row.limiter_life === life,
    };
  });
}

/** An organization that has had state in Redis, with the version of its current limits. */
export interface LimitsVersion {
  readonly orgId: string;
  readonly version: number;
}

/**
 * Reads one page, starting after the id `after`. Written in SQL because it runs often, and
 * preparing the typed query costs many times more.
 */
export async function readLiveOrgs(db: Db, after: string, most: number): Promise<LimitsVersion[]> {
  const rows = await db.$queryRaw<{ id: string; limits_version: bigint }[]>`
    SELECT id, limits_version FROM org
    WHERE id > ${after} AND limiter_life IS NOT NULL ORDER BY id LIMIT ${most}`;
  return rows.map(({ id, limits_version }) => ({ orgId: id, version: Number(limits_version) }));
}

/** Reads one page of a month's totals, starting after the organization `after`. */
export async function readMonthTotals(
  db: Db,
  month: string,
  after: string,
  most: number,
): Promise<readonly (MonthRow & { readonly orgId: string })[]> {
  const rows = await db.$queryRaw<{ org_id: string; requests: bigint; charged: bigint }[]>`
    SELECT org_id, requests, charged_tokens AS charged FROM month_total
    WHERE month = ${month} AND org_id > ${after} ORDER BY org_id LIMIT ${most}`;
  return rows.map(({ org_id, requests, charged }) => ({
    orgId: org_id,
    requests: Number(requests),
    chargedTokens: Number(charged),
  }));
}

/** Tells which of these keys exist, and whether each is revoked. */
export async function readKeyStates(
  db: Db,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, { readonly revoked: boolean }>> {
  const rows = await db.$queryRaw<{ id: string; revoked: boolean }[]>`
    SELECT id, revoked_at IS NOT NULL AS revoked FROM api_key WHERE id = ANY(${[...keyIds]}::text[])`;
  return new Map(rows.map(({ id, revoked }) => [id, { revoked }]));
}

/** True if an organization was deleted, and is not just unknown. */
export async function readIsDeleted(db: Db, orgId: string): Promise<boolean> {
  const rows = await db.$queryRaw<unknown[]>`
    SELECT 1 FROM deleted_org WHERE org_id = ${orgId} AND NOT EXISTS (SELECT FROM org WHERE id = ${orgId})`;
  return rows.length > 0;
}

export interface RevokedKey {
  readonly keyId: string;
  readonly orgId: string;
  readonly hash: Buffer;
  readonly revokedAt: Date;
}

/**
 * Reads one page of the keys revoked within the last week, the latest first: those that come after
 * `after`, or else the first ones.
 */
export async function readRevokedKeys(
  db: Db,
  most: number,
  after: Pick<RevokedKey, 'keyId' | 'revokedAt'> | null,
): Promise<RevokedKey[]> {
  const { revokedAt, keyId } = after ?? { revokedAt: 'infinity', keyId: '' };
  const rows = await db.$queryRaw<{ id: string; org_id: string; hash: Uint8Array; revoked_at: Date }[]>`
    SELECT id, org_id, hash, revoked_at FROM api_key
    WHERE revoked_at > now() - interval '7 days' AND (revoked_at, id) < (${revokedAt}::timestamptz, ${keyId})
    ORDER BY revoked_at DESC, id DESC LIMIT ${most}`;
  return rows.map(({ id, org_id, hash, revoked_at }) => {
    return { keyId: id, orgId: org_id, hash: Buffer.from(hash), revokedAt: revoked_at };
  });
}

/**
 * Reads a month's totals, which are zeros if it has no settlements. As of the same instant, also
 * tells which of the given settlements they include. One statement looks up all of them, so it has
 * to be fast: after a loss there are tens of thousands. With their days, it finds them by the
 * primary key of those days' partitions.
 *
 * @param settled reservation ids, and the days (UTC) of these reservations
 */
export async function readMonth(
  db: Db,
  orgId: string,
  month: string,
  settled: { readonly ids: readonly string[]; readonly days: readonly string[] } = { ids: [], days: [] },
): Promise<MonthRow & { readonly written: ReadonlySet<string> }> {
  const [row] = await db.$queryRaw<{ requests: bigint; charged: bigint; written: string[] }[]>`
    SELECT COALESCE(sum(t.requests), 0)::bigint AS requests, COALESCE(sum(t.charged_tokens), 0)::bigint AS charged,
      ARRAY(
        SELECT r.reservation_id FROM request r
        WHERE r.day = ANY(${settled.days}::date[]) AND r.reservation_id = ANY(${settled.ids}::text[])
      ) AS written
    FROM month_total t WHERE t.org_id = ${orgId} AND t.month = ${month}`;
  return {
    requests: Number(row?.requests ?? 0),
    chargedTokens: Number(row?.charged ?? 0),
    written: new Set(row?.written ?? []),
  };
}
