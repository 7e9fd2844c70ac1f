import { loginUrl } from '@tidegate/db';
import type { StackContext } from '../context.ts';
import type { Files } from '../files.ts';
import { Supervised } from '../process/supervised.ts';
import { loadSecrets } from '../secrets.ts';
import type { Stores } from '../services.ts';
import { checkDatabaseUrl, checkRedisUrl } from './given.ts';
import { redisUrlOf } from './redis-users.ts';
import { planPostgres, planRedis, type StackStore } from './stores.ts';

/**
 * Opens both stores. Stores that someone else runs are checked first, and nothing is started if one
 * of them is unavailable.
 */
export async function openStores(context: StackContext): Promise<Stores> {
  const { files, options, given } = context;
  const { databaseUrl: database, redisUrl: redis } = given;
  if (database) await checkGivenDatabase(context, database);
  if (redis) await checkGivenRedis(context, redis);
  const databaseUrl = database || (await openOwn(context, 'Postgres', 'embedded', planPostgres));
  const { databasePasswords, redisPasswords } = loadSecrets(files);
  const redisUrl =
    redis ||
    (await openOwn(context, 'Redis', 'append-only file', () =>
      planRedis(files, redisPasswords, options.redisAppendfsync),
    ));
  return {
    databaseUrl,
    redisUrl,
    databaseUrlFor: (service) =>
      database ? databaseUrl : loginUrl(databaseUrl, service, databasePasswords[service]),
    redisUrlFor: (service) => (redis ? redisUrl : redisUrlOf(redisUrl, service, redisPasswords)),
  };
}

const checkGivenDatabase = ({ phase }: StackContext, url: string): Promise<void> =>
  phase('Postgres', async (note) => {
    note('from DATABASE_URL');
    await checkDatabaseUrl(url);
  });

async function checkGivenRedis({ phase, options }: StackContext, url: string): Promise<void> {
  const { warning } = await phase('Redis', (note) => {
    note('from REDIS_URL');
    return checkRedisUrl(url);
  });
  if (warning) options.report?.warned?.(warning);
}

function openOwn(
  { files, members, phase }: StackContext,
  title: string,
  detail: string,
  plan: (files: Files) => Promise<StackStore>,
): Promise<string> {
  return phase(title, async (note) => {
    const store = await plan(files);
    const supervised = new Supervised(store, members.events);
    await members.addStage([supervised]);
    await supervised.start();
    note(detail);
    return store.url;
  });
}
