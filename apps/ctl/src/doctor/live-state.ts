import { instancesKey, leaseKey, monthKey, orgStateKey, outboxKey } from '@tidegate/contracts';
import type { RedisClient } from '@tidegate/redis';
import { withRedis } from '../redis.ts';

/** What Redis holds of one organization, all read at the same moment. */
export interface LiveOrg {
  /** Null: the month has no ledger here yet. */
  readonly month: { readonly requests: number; readonly charged: number; readonly reserved: number } | null;
  readonly inFlight: number;
  /** Settlements that metering has not confirmed. */
  readonly outbox: number;
  /** Unix milliseconds by Redis' clock. Null: there is none. */
  readonly oldestMs: number | null;
}

export interface Silent {
  readonly instanceId: string;
  readonly silentMs: number;
}

/** Reads the limiter's state in Redis, with the rights of ctl: it can change nothing there. */
export interface LiveStateReader {
  org(orgId: string, month: string): Promise<LiveOrg>;
  /** Gateway instances, and how long ago each gave its last sign of life. */
  instances(): Promise<readonly Silent[]>;
  /** What a server says about itself. */
  info(): Promise<string>;
  /** Unix milliseconds. */
  nowMs(): Promise<number>;
}

/** More instances are left out. */
const MAX_INSTANCES = 1_000;

/** Connects to Redis, calls `use`, and disconnects. */
export const withLiveState = <T>(
  redisUrl: string,
  prefix: string,
  use: (live: LiveStateReader) => Promise<T>,
): Promise<T> => withRedis(redisUrl, (client) => use(readerOf(client, prefix)));

function readerOf(client: RedisClient, prefix: string): LiveStateReader {
  const nowMs = async () => {
    // In a cluster, `time` goes to any node.
    const [seconds, micros] = await client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };
  return {
    info: () => client.info(),
    nowMs,
    async org(orgId, month) {
      const outbox = outboxKey(prefix, orgId);
      const replies = await client
        .multi()
        .hgetall(monthKey(prefix, orgId, month))
        .hget(orgStateKey(prefix, orgId), 'in_flight')
        .xlen(outbox)
        .xrange(outbox, '-', '+', 'COUNT', 1)
        .exec();
      const [ledger, inFlight, length, first] = (replies ?? []).map(([error, reply]) => {
        if (error) throw error;
        return reply;
      }) as [Record<string, string>, string | null, number, [id: string][]];
      const { requests = 0, charged, reserved = 0 } = ledger;
      return {
        month:
          charged === undefined
            ? null
            : { requests: Number(requests), charged: Number(charged), reserved: Number(reserved) },
        inFlight: Number(inFlight ?? 0),
        outbox: length,
        oldestMs: first[0] ? Number(first[0][0].split('-')[0]) : null,
      };
    },
    async instances() {
      const ids = await client.zrange(instancesKey(prefix), '0', String(MAX_INSTANCES - 1));
      const redisNowMs = await nowMs();
      const beats = await Promise.all(ids.map((id) => client.hget(leaseKey(prefix, id), 'beat_ms')));
      return ids.map((instanceId, i) => ({ instanceId, silentMs: redisNowMs - Number(beats[i] ?? 0) }));
    },
  };
}
