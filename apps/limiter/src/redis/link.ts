import { type Address, createRedisConnection } from '@tidegate/redis';
import type { Logger } from '@tidegate/runtime';
import { Redis } from 'ioredis';
import { createRedis, FAIL_FAST } from './connection.ts';
import { type Shards, shardsOf } from './shards.ts';
import type { Connect } from './subscription.ts';

export interface RedisLink {
  readonly shards: Shards;
  /** For subscriptions. */
  readonly connect: Connect;
  /** Whether it is there; of a cluster some of it, once it was all there. */
  ready(): boolean;
  /** After every loss of a connection to what serves keys, and before the first command of a new one; null: of all. */
  onBreak(listener: (server: Redis | null) => void): void;
  onReady(listener: () => void): void;
  open(): void;
  close(): void;
}

/** The connections of a limiter. They may find no Redis at first, or lose it, or a node of it: they keep trying until closed. */
export function createRedisLink(url: string, logger: Logger): RedisLink {
  const client = createRedis(url);
  const shards = shardsOf(client);
  const breaks: ((server: Redis | null) => void)[] = [];
  const readies: (() => void)[] = [];
  const broken = (server: Redis | null) => {
    if (shards.all().length === 0) complete = false;
    for (const listener of breaks) listener(server);
  };
  let reported = '';
  let complete = false;
  const onError = (err: Error) => {
    if (err.message !== reported) logger.warn({ err }, 'redis is away');
    reported = err.message;
  };
  const onReady = (server: Redis) => {
    reported = '';
    if (!isReplica(server)) broken(server);
    logger.info({ server: `${server.options.host}:${server.options.port}` }, 'redis is there');
    for (const listener of readies) listener();
  };
  const watch = (server: Redis) => {
    server.on('ready', () => onReady(server));
    server.on('close', () => {
      if (!isReplica(server)) broken(server);
    });
  };
  client.on('error', onError);
  if (client instanceof Redis) watch(client);
  else {
    client.on('node error', onError);
    client.on('+node', watch);
    client.on('close', () => broken(null));
  }
  return {
    shards,
    connect: connector(url, () => shards.all()),
    ready() {
      complete ||= shards.whole();
      return complete && shards.all().length > 0;
    },
    onBreak: (listener) => void breaks.push(listener),
    onReady: (listener) => void readies.push(listener),
    // A first attempt that fails is retried like any other.
    open: () => void client.connect().catch(() => {}),
    close: () => client.disconnect(),
  };
}

/**
 * As the cluster's map had it last. Nothing is asked of a replica, and one that nobody can connect to is tried again at every look
 * at the map.
 */
const isReplica = ({ options }: Redis): boolean => options.readOnly === true;

/** Each connection goes to another server than the one before, if there are several. */
function connector(url: string, servers: () => readonly Redis[]): Connect {
  let turn = 0;
  return () =>
    createRedisConnection(url, { ...FAIL_FAST, retryStrategy: () => null }, (named) => {
      const known: readonly Address[] = servers().map(({ options: { host = '', port = 0 } }) => ({
        host,
        port,
      }));
      const all = known.length > 0 ? known : named;
      return all[turn++ % all.length];
    });
}
