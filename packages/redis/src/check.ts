import { Cluster } from 'ioredis';
import { createRedisClient, type RedisClient } from './client.ts';
import { redisTooOld } from './version.ts';

/** Redis could not be asked. The message says why, and shows nothing of the URL but addresses. */
export class RedisCheckError extends Error {
  override readonly name = 'RedisCheckError';
}

export interface RedisServers {
  /** Whether every server keeps an append-only file. Null: a server does not say. */
  readonly appendOnly: boolean | null;
  /** What is wrong with a server's version. Null: nothing, or it does not say. */
  readonly tooOld: string | null;
}

/**
 * Asks the Redis of a URL, or every master of a cluster, whether it persists its data, and whether
 * it is new enough.
 * @throws RedisCheckError after `timeoutMs` at the latest
 * @throws RedisUrlError
 */
export async function checkRedis(url: string, timeoutMs: number): Promise<RedisServers> {
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
    return await Promise.race([late, askServers(client)]);
  } catch (error) {
    if (error instanceof RedisCheckError) throw error;
    // The connection's own error says more than that of the command that found it closed.
    throw new RedisCheckError(reasonOf((lastError ?? (error as Error)).message), { cause: error });
  } finally {
    clearTimeout(timer);
    client.disconnect();
  }
}

async function askServers(client: RedisClient): Promise<RedisServers> {
  await client.connect();
  const servers = client instanceof Cluster ? client.nodes('master') : [client];
  const infos = await Promise.all(servers.map((server) => server.info().catch(refusedInfo)));
  const appendOnly = infos.every((text) => /^aof_enabled:1\r?$/m.test(text));
  const tooOld = infos.map(redisTooOld).find((problem) => problem !== null) ?? null;
  return { appendOnly: infos.includes('') ? null : appendOnly, tooOld };
}

/** With several addresses, the client does not say how each of them failed. */
const reasonOf = (message: string): string =>
  /Connection is closed|sentinels are unreachable/.test(message) ? 'no server answers' : message;

/** A user without permission for INFO may still have all permissions that the services need. */
function refusedInfo(error: Error): string {
  if (error.message.startsWith('NOPERM')) return '';
  throw error;
}
