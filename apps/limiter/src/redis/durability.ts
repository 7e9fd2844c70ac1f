import { redisTooOld } from '@tidegate/redis';
import type { Logger } from '@tidegate/runtime';
import type { RedisLink } from './link.ts';

/** How a Redis server keeps its data. Null: it does not say. */
export interface Durability {
  readonly appendOnly: boolean | null;
  /** Whether its last write to the file succeeded. */
  readonly writes: boolean | null;
  readonly evicts: boolean | null;
  /** What is wrong with its version. Null: nothing, or it does not say. */
  readonly tooOld: string | null;
}

/** Reads it from every available server. Rejects if one of them refuses INFO to the user. */
export async function readDurability({ shards }: RedisLink): Promise<Durability[]> {
  const servers = shards.all();
  if (servers.length === 0) throw new Error('no server is available');
  return Promise.all(
    servers.map(async (server) => {
      const told = await server.info('everything');
      const is = (field: string, value: string): boolean | null => {
        const found = new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(told)?.[1];
        return found === undefined ? null : found === value;
      };
      const keeps = is('maxmemory_policy', 'noeviction');
      return {
        appendOnly: is('aof_enabled', '1'),
        writes: is('aof_last_write_status', 'ok'),
        evicts: keeps === null ? null : !keeps,
        tooOld: redisTooOld(told),
      };
    }),
  );
}

/**
 * Warns of a version that is too old, and of settings that lose data, once: when Redis is first
 * available. Silent about what the user may not read. No service may ask for `appendfsync`
 * (docs/accounts.md).
 */
export function warnOfDurability(link: RedisLink, logger: Logger): void {
  let looked = false;
  link.onReady(() => {
    if (looked || !link.ready()) return;
    looked = true;
    readDurability(link).then(
      (servers) => {
        const tooOld = servers.find((server) => server.tooOld !== null)?.tooOld;
        if (tooOld) logger.error(tooOld);
        if (servers.some(({ appendOnly }) => appendOnly === false))
          logger.warn(
            'Redis keeps no append-only file. A restart may lose data: requests of the affected organizations are then refused for a minute, and settlements may be lost. Set appendonly yes',
          );
        if (servers.some(({ evicts }) => evicts))
          logger.warn(
            'Redis may evict keys, and with them limits and settlements. Set maxmemory-policy noeviction',
          );
      },
      (err) => logger.info({ err }, 'could not read how Redis persists its data'),
    );
  });
}
