import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import {
  freePort,
  type RedisServer,
  type RunningRedis,
  type RunningRedisCluster,
  type RunningRedisSentinel,
  startRedis,
  startRedisCluster,
  startRedisSentinel,
} from '@tidegate/embedded';
import { TEST_ENV, testEnv } from './env.ts';

const MASTERS = 3;
/** Until a Sentinel replaces a silent master: short, but no pause of a busy machine. */
const DOWN_AFTER_MS = 1_000;

export interface TestRedisOptions {
  /** Keep an append-only file, so that `restart` finds the data again; default false. */
  readonly appendonly?: boolean;
  /** One server even when the run is to use clusters. */
  readonly cluster?: false;
}

export interface TestRedis {
  readonly url: string;
  /** Of the processes that run now. */
  readonly pids: readonly number[];
  /** Signals the server (default SIGKILL) and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stops it if it runs, and starts it on the same port and directory. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * A Redis server process of the test's own; whoever starts it stops it. When the run is to use clusters, it is a cluster that
 * lives and dies as one.
 */
export async function testRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  if (process.env[TEST_ENV.cluster] && options.cluster !== false)
    return wholeCluster(await testRedisCluster(options));
  const server = JSON.parse(testEnv('redis')) as RedisServer;
  const dir = await mkdtemp(join(testEnv('directory'), 'redis-'));
  const port = await freePort();
  const start = () => startRedis({ server, dir, port, appendonly: options.appendonly ?? false });
  let running: RunningRedis = await start();
  return {
    url: running.url,
    get pids() {
      return [running.pid];
    },
    kill: async (signal = 'SIGKILL') => {
      running.kill(signal);
      await running.exited;
    },
    restart: async () => {
      await running.stop();
      running = await start();
    },
    stop: () => running.stop(),
  };
}

/** A Redis Cluster of three masters of the test's own, with a replica of each on demand; whoever starts it stops it. */
export async function testRedisCluster(
  options: TestRedisOptions & { readonly replicas?: boolean; readonly nodeTimeoutMs?: number } = {},
): Promise<RunningRedisCluster> {
  const { replicas = false, ...rest } = options;
  const ports: { port: number; busPort: number }[] = [];
  for (let i = 0; i < (replicas ? 2 * MASTERS : MASTERS); i++)
    ports.push({ port: await freePort(), busPort: await freePort() });
  const server = JSON.parse(testEnv('redis')) as RedisServer;
  const dir = await mkdtemp(join(testEnv('directory'), 'redis-cluster-'));
  return startRedisCluster({ appendonly: false, ...rest, server, dir, ports, masters: MASTERS });
}

/** A master with a replica, and a Sentinel that replaces it, of the test's own; whoever starts them stops them. */
export async function testRedisSentinel(): Promise<RunningRedisSentinel> {
  const server = JSON.parse(testEnv('redis')) as RedisServer;
  const dir = await mkdtemp(join(testEnv('directory'), 'redis-sentinel-'));
  const redis = [await freePort(), await freePort()] as const;
  const ports = { redis, sentinel: await freePort() };
  return startRedisSentinel({ server, dir, ports, downAfterMs: DOWN_AFTER_MS, appendonly: false });
}

function wholeCluster({ url, nodes, whole, stop }: RunningRedisCluster): TestRedis {
  return {
    url,
    get pids() {
      return nodes.map(({ running }) => running.pid);
    },
    kill: async (signal = 'SIGKILL') => {
      for (const { running } of nodes) running.kill(signal);
      await Promise.all(nodes.map(({ running }) => running.exited));
    },
    restart: async () => {
      await stop();
      await Promise.all(nodes.map((node) => node.start()));
      await whole();
    },
    stop,
  };
}
