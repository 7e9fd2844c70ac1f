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
/**
 * After this silence a master is replaced. It is longer than any pause of a busy machine. Tests
 * that kill a master shorten it afterwards.
 */
const SILENCE_MS = 60_000;

export interface TestRedisOptions {
  /**
   * Keep an append-only file, so that `restart` finds the data again; default false. A single
   * server forces it to disk before each reply: otherwise, killed on a slow disk, it would forget
   * answered writes.
   */
  readonly appendonly?: boolean;
  /** Use one server even when the run uses clusters. */
  readonly cluster?: false;
}

export interface TestRedis {
  readonly url: string;
  /** The ids of the processes that run now. */
  readonly pids: readonly number[];
  /** Signals the server (default SIGKILL) and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stops the server if it runs, and starts it on the same port and directory. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a Redis for one test, which must stop it. When the run uses clusters, this is a cluster
 * whose nodes start and stop together.
 */
export async function testRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  if (process.env[TEST_ENV.cluster] && options.cluster !== false)
    return wholeCluster(await testRedisCluster(options));
  const server = JSON.parse(testEnv('redis')) as RedisServer;
  const dir = await mkdtemp(join(testEnv('directory'), 'redis-'));
  const port = await freePort();
  const { appendonly = false } = options;
  const start = () => startRedis({ server, dir, port, appendonly, appendfsync: 'always' });
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

/** Starts a cluster of three masters, with a replica each if asked. The test must stop it. */
export async function testRedisCluster(
  options: TestRedisOptions & { readonly replicas?: boolean; readonly nodeTimeoutMs?: number } = {},
): Promise<RunningRedisCluster> {
  const { replicas = false, nodeTimeoutMs = SILENCE_MS, ...rest } = options;
  const ports: { port: number; busPort: number }[] = [];
  for (let i = 0; i < (replicas ? 2 * MASTERS : MASTERS); i++)
    ports.push({ port: await freePort(), busPort: await freePort() });
  const server = JSON.parse(testEnv('redis')) as RedisServer;
  const dir = await mkdtemp(join(testEnv('directory'), 'redis-cluster-'));
  return startRedisCluster({
    ...{ appendonly: false, nodeTimeoutMs, ...rest },
    ...{ server, dir, ports, masters: MASTERS },
  });
}

/**
 * Starts a master, its replica, and a Sentinel that fails over once `setDownAfter` has
 * been called. The test must stop them.
 */
export async function testRedisSentinel(): Promise<RunningRedisSentinel> {
  const server = JSON.parse(testEnv('redis')) as RedisServer;
  const dir = await mkdtemp(join(testEnv('directory'), 'redis-sentinel-'));
  const redis = [await freePort(), await freePort()] as const;
  const ports = { redis, sentinel: await freePort() };
  return startRedisSentinel({ server, dir, ports, downAfterMs: SILENCE_MS, appendonly: false });
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
