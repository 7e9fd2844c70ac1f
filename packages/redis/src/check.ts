import { Cluster } from 'ioredis';
import { createRedisClient, type RedisClient } from './client.ts';

/** No Redis answered as one; the message says why and shows nothing of the URL but addresses. */
export class RedisCheckError extends Error {
  override readonly name = 'RedisCheckError';
}

export interface RedisPersistence {
  /** Whether every server keeps an append-only file; null: not told. */
  readonly appendOnly: boolean | null;
}

/**
 * Asks what REDIS_URL names, of a cluster every master, whether it keeps what it is told.
 * @throws RedisCheckError after `timeoutMs` at the latest; RedisUrlError
 */
export async function checkRedis(url: string, timeoutMs: number): Promise<RedisPersistence> {
  const client = createRedisClient(url, {
    connectTimeout: timeoutMs,
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let lastError: Error | undefined;
  client.on('error', (error: Error & { readonly lastNodeError?: Error }) => {
    lastError = error.lastNodeError ?? error;
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RedisCheckError(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([late, askPersistence(client)]);
  } catch (error) {
    if (error instanceof RedisCheckError) throw error;
    // The connection's own error tells more than the command that found it closed.
    throw new RedisCheckError(plainly((lastError ?? (error as Error)).message), { cause: error });
  } finally {
    clearTimeout(timer);
    client.disconnect();
  }
}

async function askPersistence(client: RedisClient): Promise<RedisPersistence> {
  await client.connect();
  const servers = client instanceof Cluster ? client.nodes('master') : [client];
  const told = await Promise.all(servers.map((server) => server.info('persistence').catch(refusedInfo)));
  if (told.includes('')) return { appendOnly: null };
  return { appendOnly: told.every((text) => /^aof_enabled:1\r?$/m.test(text)) };
}

/** Of several addresses the client does not tell which one failed how. */
const plainly = (message: string): string =>
  /Connection is closed|sentinels are unreachable/.test(message) ? 'none answers' : message;

/** A user who may not ask may still be one who may do all that is needed. */
function refusedInfo(error: Error): string {
  if (error.message.startsWith('NOPERM')) return '';
  throw error;
}
