import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedis, startPostgres, startRedis } from '@tidegate/embedded';
import { freePort } from '@tidegate/testing';

/** A store that stays down until it is started again. */
export interface Store {
  readonly url: string;
  down(): Promise<void>;
  up(): Promise<void>;
}

export interface SignalledStore extends Store {
  /** Sends a signal to all of its processes. */
  signal(name: NodeJS.Signals): void;
  /** Keeps a copy of its files as they are now. The store is down meanwhile. */
  copy(): Promise<void>;
  /** Puts the copy in place of its files. The store is down meanwhile. */
  putCopyBack(): Promise<void>;
}

export interface Stores {
  readonly postgres: SignalledStore;
  readonly redis: SignalledStore;
  stop(): Promise<void>;
}

/** Starts a Postgres and a Redis that nobody restarts, for long outages. */
export async function startStores(): Promise<Stores> {
  const dir = mkdtempSync(join(tmpdir(), 'tidegate-stores-'));
  const [postgresPort, redisPort] = [await freePort(), await freePort()];
  const server = await findRedis({ localDir: join(dir, 'tools') });
  const openPostgres = () => startPostgres({ dataDir: join(dir, 'postgres'), port: postgresPort });
  const openRedis = () =>
    startRedis({ server, dir: join(dir, 'redis'), port: redisPort, appendfsync: 'always' });
  let postgres = await openPostgres();
  let redis = await openRedis();
  const copies = (name: 'postgres' | 'redis', down: () => Promise<void>, up: () => Promise<void>) => {
    const [files, copy] = [join(dir, name), join(dir, `${name}.copy`)];
    const replace = (from: string, to: string) => async () => {
      await down();
      rmSync(to, { recursive: true, force: true });
      // Node's own copy would belong to root, and Postgres may run as another user.
      execFileSync('cp', ['-a', from, to]);
      await up();
    };
    return { copy: replace(files, copy), putCopyBack: replace(copy, files) };
  };
  const downRedis = async () => {
    redis.kill('SIGKILL');
    await redis.exited;
  };
  const upRedis = async () => {
    redis = await openRedis();
  };
  const upPostgres = async () => {
    postgres = await openPostgres();
  };
  return {
    postgres: {
      url: postgres.url,
      down: () => postgres.stop(),
      up: upPostgres,
      ...copies('postgres', () => postgres.stop(), upPostgres),
      signal(name) {
        for (const pid of [postgres.pid, ...childrenOf(postgres.pid)]) process.kill(pid, name);
      },
    },
    redis: {
      url: redis.url,
      down: downRedis,
      up: upRedis,
      ...copies('redis', downRedis, upRedis),
      signal: (name) => redis.kill(name),
    },
    async stop() {
      await redis.stop();
      await postgres.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Postgres has a process for each connection, each in its own group. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
