import type { Db } from '@tidegate/db';
import { readDurability } from './redis/durability.ts';
import type { RedisLink } from './redis/link.ts';
import type { ScriptDeps } from './script-deps.ts';
import type { LimiterReadings, QuotaUse } from './state-metrics.ts';

/** The quotas are read at most this often, because that reads every organization's month. */
const QUOTAS_EVERY_MS = 60_000;
const TOP_QUOTAS = 10;

/** What metrics read from Redis and Postgres. */
export function storeReadings({ scriptDeps, db, link }: { scriptDeps: ScriptDeps; db: Db; link: RedisLink }) {
  const { store, names } = scriptDeps;
  const pingPostgres = async (): Promise<unknown> => db.$queryRaw`SELECT 1`;
  let quotas: { readonly readAtMs: number; readonly top: readonly QuotaUse[] } | null = null;
  return {
    pingRedis: () => store.commandAt(null, 'ping'),
    pingPostgres,
    leases: async () => Number(await store.command('zcard', names.instances)),
    durability: () => readDurability(link),
    async topQuotas() {
      // What was read before would look current while Postgres is unavailable.
      await pingPostgres();
      const nowMs = performance.now();
      if (!quotas || nowMs - quotas.readAtMs > QUOTAS_EVERY_MS)
        quotas = { readAtMs: nowMs, top: await readTopQuotas(db) };
      return quotas.top;
    },
  } satisfies Partial<LimiterReadings>;
}

async function readTopQuotas(db: Db): Promise<QuotaUse[]> {
  const rows = await db.$queryRaw<{ id: string; tokens: number; requests: number }[]>`
    SELECT * FROM (
      SELECT o.id, coalesce(t.charged_tokens::float8 / nullif(p.tokens_per_month, 0), 1) AS tokens,
        coalesce(t.requests::float8 / nullif(p.requests_per_month, 0), 1) AS requests
      FROM org o JOIN plan p ON p.id = o.plan_id JOIN month_total t ON t.org_id = o.id
        AND t.month = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')
    ) used ORDER BY greatest(tokens, requests) DESC LIMIT ${TOP_QUOTAS}`;
  return rows.map(({ id, tokens, requests }) => ({ orgId: id, tokens, requests }));
}
