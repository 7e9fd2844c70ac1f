import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { createRedisClient, type RedisClient } from './client.ts';

/** No connection, or no answer, for this long: it is given up and made anew. Nothing that blocks is asked over it. */
const ANSWER_TIMEOUT_MS = 2_000;
const RECONNECT_MAX_MS = 500;

/** A BullMQ queue as something that comes and goes with its Redis. */
export interface QueueLink {
  /** Rejects at once when Redis is away, and soon when it hangs. `work` asks nothing that blocks: workers have connections of their own. */
  use<R>(work: (queue: Queue) => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

/**
 * Connects to a queue; nothing waits for a Redis that is away. BullMQ asks Redis a question when it is made, once, and is of no more use if
 * that fails: so it is made when Redis is there, and anew when it was not after all.
 */
export function openQueue(options: {
  readonly redisUrl: string;
  readonly name: string;
  /** With a hash tag, so that all of the queue is in one slot of a cluster. */
  readonly prefix: string;
  readonly onError: (error: Error) => void;
}): QueueLink {
  const { name, prefix, onError } = options;
  const connection = createRedisClient(options.redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: ANSWER_TIMEOUT_MS,
    socketTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MAX_MS),
  });
  let lost: Error | undefined;
  connection.on('error', (error) => {
    lost = error;
    onError(error);
  });
  let queue: Queue | null = null;
  const make = (): Queue => {
    if (!isConnected(connection)) throw new Error('the Redis of the queue is away', { cause: lost });
    const made = new Queue(name, {
      prefix,
      connection,
      skipMetasUpdate: true,
    });
    made.on('error', onError);
    return made;
  };
  return {
    async use(work) {
      queue ??= make();
      const used = queue;
      try {
        await used.waitUntilReady();
      } catch (error) {
        if (queue === used) queue = null;
        await used.close().catch(() => {});
        throw error;
      }
      return work(used);
    },
    async close() {
      await queue?.close();
      connection.disconnect();
    },
  };
}

/** Whether every server of a client is connected. */
function isConnected(client: RedisClient): boolean {
  if (client instanceof Redis) return client.status === 'ready';
  const masters = client.nodes('master');
  return client.status === 'ready' && masters.length > 0 && masters.every(({ status }) => status === 'ready');
}
