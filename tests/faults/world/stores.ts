import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedis, startPostgres, startRedis } from '@tidegate/embedded';
import { freePort } from '@tidegate/testing';

/** A store that stays away until it is asked back. */
export interface Store {
  readonly url: string;
  down(): Promise<void>;
  up(): Promise<void>;
}

export interface Stores {
  readonly postgres: Store;
  readonly redis: Store & { signal(name: NodeJS.Signals): void };
  stop(): Promise<void>;
}

/** A Postgres and a Redis that nobody restarts, for outages that last. */
export async function startStores(): Promise<Stores> {
  const dir = mkdtempSync(join(tmpdir(), 'tidegate-stores-'));
  const [postgresPort, redisPort] = [await freePort(), await freePort()];
  const server = await findRedis({ localDir: join(dir, 'tools') });
  const openPostgres = () => startPostgres({ dataDir: join(dir, 'postgres'), port: postgresPort });
  const openRedis = () =>
    startRedis({ server, dir: join(dir, 'redis'), port: redisPort, appendfsync: 'always' });
  let postgres = await openPostgres();
  let redis = await openRedis();
  return {
    postgres: {
      url: postgres.url,
      down: () => postgres.stop(),
      async up() {
        postgres = await openPostgres();
      },
    },
    redis: {
      url: redis.url,
      async down() {
        redis.kill('SIGKILL');
        await redis.exited;
      },
      async up() {
        redis = await openRedis();
      },
      signal: (name) => redis.kill(name),
    },
    async stop() {
      await redis.stop();
      await postgres.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
