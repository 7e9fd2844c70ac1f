import { observeStore, type Registry, readGauge, readGauges } from '@tidegate/runtime';
import { CHORES, type ChoreName } from './metrics.ts';
import type { Durability } from './redis/durability.ts';

/** An organization and how much of its month is used, from 0 to 1. */
export interface QuotaUse {
  readonly orgId: string;
  readonly tokens: number;
  readonly requests: number;
}

/** What is read at each scrape. A rejection leaves the metric out. */
export interface LimiterReadings {
  readonly sessions: () => number;
  readonly openCalls: () => number;
  readonly maxOpenCalls: number;
  readonly pingRedis: () => Promise<unknown>;
  readonly pingPostgres: () => Promise<unknown>;
  /** Instances that are listed with a lease. */
  readonly leases: () => Promise<number>;
  readonly durability: () => Promise<readonly Durability[]>;
  /** Null: not known here, because another limiter does the chore. */
  readonly recovering: () => number | null;
  readonly oldestUnconfirmedS: () => number | null;
  readonly holds: (chore: ChoreName) => boolean;
  readonly topQuotas: () => Promise<readonly QuotaUse[]>;
}

/** Registers what is read at each scrape. */
export function observeLimiter(registry: Registry, readings: LimiterReadings): void {
  const gauge = (name: string, help: string, read: () => number | null | Promise<number | null>) =>
    readGauge({ registry, name: `tidegate_limiter_${name}`, help }, read);
  observeStore(registry, 'postgres', readings.pingPostgres);
  observeRedis(registry, readings);
  gauge('sessions', 'Open sessions.', readings.sessions);
  gauge('open_calls', 'Calls without a reply.', readings.openCalls);
  gauge(
    'session_open_calls_max',
    'Calls that one session may have without a reply.',
    () => readings.maxOpenCalls,
  );
  gauge('leases', 'Gateway instances that Redis lists with a lease.', readings.leases);
  gauge(
    'recovering_organizations',
    'Organizations that are recovering. Reported only by the limiter that looks for lost state.',
    readings.recovering,
  );
  gauge(
    'outbox_oldest_seconds',
    'Age of the oldest settlement that has been unconfirmed for more than 30 s; 0 if there is none. Reported only by the limiter that sweeps.',
    readings.oldestUnconfirmedS,
  );
  readGauges(
    {
      registry,
      name: 'tidegate_limiter_chore_held',
      help: '1 while this limiter holds the lock of a chore.',
      labelNames: ['chore'],
    },
    () => CHORES.map((chore) => [{ chore }, Number(readings.holds(chore))] as const),
  );
  readGauges(
    {
      registry,
      name: 'tidegate_limiter_quota_used_ratio',
      help: 'Share of a monthly quota that is used, as written to Postgres, by quota: tokens or requests. Only for the 10 organizations with the highest share.',
      labelNames: ['org', 'quota'],
    },
    async () =>
      (await readings.topQuotas()).flatMap(({ orgId: org, tokens, requests }) => [
        [{ org, quota: 'tokens' }, tokens] as const,
        [{ org, quota: 'requests' }, requests] as const,
      ]),
  );
}

function observeRedis(registry: Registry, { pingRedis, durability }: LimiterReadings): void {
  observeStore(registry, 'redis', pingRedis);
  readGauge(
    {
      registry,
      name: 'tidegate_redis_append_only',
      help: '1 if every Redis server keeps an append-only file and its last write to it succeeded, 0 if not. Missing if the Redis user may not ask.',
    },
    async () => {
      const servers = await durability();
      return Number(servers.every(({ appendOnly, writes }) => appendOnly === true && writes === true));
    },
  );
  readGauge(
    {
      registry,
      name: 'tidegate_redis_evicts',
      help: '1 if a Redis server may evict keys, 0 if none may. Missing if the servers do not say.',
    },
    async () => {
      const told = (await durability()).map(({ evicts }) => evicts).filter((one) => one !== null);
      return told.length === 0 ? null : Number(told.includes(true));
    },
  );
}
