import { type Address, createRedisConnection } from '@tidegate/redis';
import type { Logger } from '@tidegate/runtime';
import { Redis } from 'ioredis';
import { createRedis, failFast } from './connection.ts';
import { isReplica, type Shards, shardsOf } from './shards.ts';
import type { Connect } from './subscription.ts';

export interface RedisLink {
  readonly shards: Shards;
  /** Opens connections for subscriptions. */
  readonly connect: Connect;
  /**
   * Whether Redis is available. A cluster must first be available in full. From then on, part of it
   * is enough, until no server is left.
   */
  ready(): boolean;
  /**
   * Calls back after each loss of a connection to a server that holds keys, and before the first
   * command on a new one. Null means all servers.
   */
  onBreak(listener: (server: Redis | null) => void): void;
  onReady(listener: () => void): void;
  open(): void;
  close(): void;
}

/**
 * The limiter's connections to Redis. They keep reconnecting until closed, even while Redis or one
 * of its nodes is unavailable.
 */
export function createRedisLink(url: string, answerTimeoutMs: number, logger: Logger): RedisLink {
  const client = createRedis(url, answerTimeoutMs);
  const breaks: ((server: Redis | null) => void)[] = [];
  const readies: (() => void)[] = [];
  const broken = (server: Redis | null) => {
    if (shards.all().length === 0) complete = false;
    for (const listener of breaks) listener(server);
  };
  let reported = '';
  let complete = false;
  const onError = (err: Error) => {
    if (err.message !== reported) logger.warn({ err }, 'Redis is unavailable');
    reported = err.message;
  };
  const shards = shardsOf(client, (server, { awaitsReplica, refused }) => {
    reported = '';
    if (!isReplica(server)) broken(server);
    logger.info({ server: addressOf(server), awaitsReplica }, 'Redis is available');
    if (refused)
      logger.warn(
        { err: refused },
        'Redis has min-replicas-to-write, but does not let its user run WAIT. What it answered may be lost when a replica takes over. Allow it: +wait',
      );
    for (const listener of readies) listener();
  });
  const watch = (server: Redis) => {
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
    connect: connector(url, answerTimeoutMs, () => shards.all()),
    ready() {
      complete ||= shards.whole();
      return complete && shards.all().length > 0;
    },
    onBreak: (listener) => void breaks.push(listener),
    onReady: (listener) => void readies.push(listener),
    // A failed first attempt is retried like any other.
    open: () => void client.connect().catch(() => {}),
    close: () => client.disconnect(),
  };
}

const addressOf = ({ options: { host, port } }: Redis): string => `${host}:${port}`;

/** Each connection goes to a different server than the one before, if there are several. */
function connector(url: string, answerTimeoutMs: number, servers: () => readonly Redis[]): Connect {
  let turn = 0;
  const options = { ...failFast(answerTimeoutMs), retryStrategy: () => null };
  return () =>
    createRedisConnection(url, options, (named) => {
      const known: readonly Address[] = servers().map(({ options: { host = '', port = 0 } }) => ({
        host,
        port,
      }));
      const all = known.length > 0 ? known : named;
      return all[turn++ % all.length];
    });
}
