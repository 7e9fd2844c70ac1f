/**
 * Runs once before all tests: starts one Postgres with a migrated template, finds one Redis binary,
 * makes one scratch directory, and offers one stack that test files share. It needs built packages.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findRedis, startPostgres } from '@tidegate/embedded';
import { createTemplate, dropDatabase, freePort, TEST_ENV } from '@tidegate/testing';
import { directoryInMemory } from './memory.mjs';

/** For many short-lived databases. They end before a vacuum would pay off. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '300',
};
const SHARED_STACK = {
  demo: false,
  console: true,
  scale: { gateway: 2, limiter: 2 },
  env: {
    // On a busy machine, hundreds of requests take long to gather before a model that is asleep.
    gateway: { TRUSTED_PROXIES: '1', COLD_START_MS: '600000' },
    // Models answer from the tests' processes, some of which stand still during long comparisons.
    runner: { RUNNER_PROBE_TIMEOUT_MS: '120000' },
  },
};

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
    process.env[TEST_ENV.sharedStack] = await offerStack(ends);
  } catch (error) {
    for (const end of ends) await end();
    throw error;
  }
}

/** Keeps its data in memory if there is room, because a database consists of 300 files. */
async function startOwnPostgres(directory, ends) {
  const memory = await directoryInMemory();
  if (memory) ends.unshift(() => rm(memory, { recursive: true, force: true }));
  else process.env[TEST_ENV.keepDatabases] = 'true';
  const dataDir = join(memory ?? directory, 'postgres');
  const postgres = await startPostgres({ dataDir, port: await freePort(), settings: SETTINGS });
  ends.unshift(() => postgres.stop());
  return postgres.url;
}

/** Returns a URL that answers with the shared stack, which the first request starts. */
async function offerStack(ends) {
  let started;
  const start = async () => {
    const { startTestStack } = await import('./test-stack.mjs');
    return startTestStack(SHARED_STACK);
  };
  const server = createServer(async (_request, response) => {
    try {
      started ??= start();
      const { info, dataDir } = (await started).stack;
      response.end(JSON.stringify({ info, dataDir }));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.unshift(async () => {
    server.close();
    server.closeAllConnections();
    const { end } = (await started?.catch(() => undefined)) ?? {};
    await end?.();
  });
  return `http://127.0.0.1:${server.address().port}`;
}
