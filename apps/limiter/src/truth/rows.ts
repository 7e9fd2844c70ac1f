import { type Db, Prisma } from '@tidegate/db';
import { expiryInstantMs } from '@tidegate/limits';

/** A key as Postgres has it. */
export interface KeyRow {
  readonly keyId: string;
  readonly orgId: string;
  /** SHA-256 of the value. */
  readonly hash: Buffer;
  readonly revoked: boolean;
  readonly requestsPerMinute: number;
  readonly requestsAtOnce: number;
  /** Unix time from which it is refused; 0: never. */
  readonly expiresAtMs: number;
  /** Null: all models. */
  readonly modelIds: readonly string[] | null;
}

/** The limits in force of an organization. */
export interface OrgRow {
  readonly orgId: string;
  readonly version: number;
  readonly images: boolean;
  readonly requestsPerMinute: number;
  readonly requestsAtOnce: number;
  readonly requestsPerMonth: number;
  readonly tokensPerMonth: number;
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
    expiresAtMs: row.expiresOn ? expiryInstantMs(row.expiresOn.toISOString().slice(0, 10)) : 0,
    modelIds: row.allModels ? null : row.models.map(({ modelId }) => modelId),
  };
}

interface RawOrg {
  readonly id: string;
  readonly limits_version: bigint;
  readonly images: boolean;
  readonly requests_per_minute: number;
  readonly requests_at_once: number;
  readonly requests_per_month: bigint;
  readonly tokens_per_month: bigint;
}

/** One statement, so that version and values belong together. Unknown organizations are left out. */
export async function readOrgs(db: Db, orgIds: readonly string[]): Promise<OrgRow[]> {
  const rows = await db.$queryRaw<RawOrg[]>`
    SELECT o.id, o.limits_version, p.images, p.requests_per_minute, p.requests_at_once, p.requests_per_month, p.tokens_per_month
    FROM org o JOIN plan p ON p.id = o.plan_id
    WHERE o.id IN (${Prisma.join([...orgIds])})`;
  return rows.map((row) => ({
    orgId: row.id,
    version: Number(row.limits_version),
    images: row.images,
    requestsPerMinute: row.requests_per_minute,
    requestsAtOnce: row.requests_at_once,
    requestsPerMonth: Number(row.requests_per_month),
    tokensPerMonth: Number(row.tokens_per_month),
  }));
}

/** A month without settlements has no row: zeros. */
export async function readMonth(db: Db, orgId: string, month: string): Promise<MonthRow> {
  const row = await db.monthTotal.findUnique({ where: { orgId_month: { orgId, month } } });
  return { requests: Number(row?.requests ?? 0), chargedTokens: Number(row?.chargedTokens ?? 0) };
}
