import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { createRedisClient, type RedisClient } from './client.ts';

const ANSWER_TIMEOUT_MS = 2_000;
const RECONNECT_MAX_MS = 500;

/** A BullMQ queue whose Redis may come and go. */
export interface QueueLink {
  /**
   * Rejects immediately when Redis is not connected, and soon when it hangs. `work` must not block:
   * workers have connections of their own.
   */
  use<R>(work: (queue: Queue) => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

/**
 * Connects to a queue, without waiting for Redis. A BullMQ queue asks Redis something when it is
 * constructed, and is useless if that fails. So it is constructed once Redis is connected, and
 * again after a failure.
 */
export function openQueue(options: {
  readonly redisUrl: string;
  readonly name: string;
  /** Has a hash tag, so that the whole queue is in one slot of a cluster. */
  readonly prefix: string;
  /**
   * After this long without an answer, the connection is replaced. It never sends blocking
   * commands. Default: 2 s.
   */
  readonly answerTimeoutMs?: number;
  readonly onError: (error: Error) => void;
}): QueueLink {
  const { name, prefix, answerTimeoutMs = ANSWER_TIMEOUT_MS, onError } = options;
  // Nothing else in this package takes as long to load as BullMQ, and few importers need a queue.
  const loading = import('bullmq');
  const connection = createRedisClient(options.redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: answerTimeoutMs,
    socketTimeout: answerTimeoutMs,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MAX_MS),
  });
  let lost: Error | undefined;
  connection.on('error', (error) => {
    lost = error;
    onError(error);
  });
  let queue: Queue | null = null;
  const make = (bullmq: Awaited<typeof loading>): Queue => {
    if (!isConnected(connection)) throw new Error("the queue's Redis is not connected", { cause: lost });
    const made = new bullmq.Queue(name, {
      prefix,
      connection,
      skipMetasUpdate: true,
    });
    made.on('error', onError);
    return made;
  };
  return {
    async use(work) {
      const bullmq = await loading;
      queue ??= make(bullmq);
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
      await loading;
      await queue?.close();
      connection.disconnect();
    },
  };
}

/** True if a client's server, or every master of its cluster, is connected. */
function isConnected(client: RedisClient): boolean {
  if (client instanceof Redis) return client.status === 'ready';
  const masters = client.nodes('master');
  return client.status === 'ready' && masters.length > 0 && masters.every(({ status }) => status === 'ready');
}
