/**
 * Runs once before all tests: starts one Postgres with a migrated template, finds one Redis binary
 * and makes one scratch directory. It needs built packages.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findRedis, startPostgres } from '@tidegate/embedded';
import { createTemplate, dropDatabase, freePort, TEST_ENV } from '@tidegate/testing';

const SETTINGS = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' };

export default async function setup() {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
  const ends = [() => rm(directory, { recursive: true, force: true })];
  globalThis.tidegateTestEnds = ends;
  try {
    const redis = await findRedis({
      localDir: fileURLToPath(new URL('../../.local/redis-server', import.meta.url)),
    });
    const postgresUrl = process.env.TEST_DATABASE_URL ?? (await startOwnPostgres(directory, ends));
    const template = await createTemplate(postgresUrl);
    ends.unshift(() => dropDatabase(postgresUrl, template));
    process.env[TEST_ENV.directory] = directory;
    process.env[TEST_ENV.redis] = JSON.stringify(redis);
    process.env[TEST_ENV.postgres] = postgresUrl;
    process.env[TEST_ENV.template] = template;
  } catch (error) {
    for (const end of ends) await end();
    throw error;
  }
}

async function startOwnPostgres(directory, ends) {
  const options = { dataDir: join(directory, 'postgres'), port: await freePort(), settings: SETTINGS };
  const postgres = await startPostgres(options);
  ends.unshift(() => postgres.stop());
  return postgres.url;
}
