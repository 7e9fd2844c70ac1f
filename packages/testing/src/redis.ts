import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { type RedisServer, type RunningRedis, startRedis } from '@tidegate/embedded';
import { testEnv } from './env.ts';
import { freePort } from './ports.ts';

export interface TestRedisOptions {
  /** Keep an append-only file, so that `restart` finds the data again; default false. */
  readonly appendonly?: boolean;
  readonly port?: number;
  readonly dir?: string;
}

export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Of the process that runs now. */
  readonly pid: number;
  /** Signals the server (default SIGKILL) and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stops it if it runs, and starts it on the same port and directory. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** A Redis server process of the test's own; whoever starts it stops it. */
export async function testRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  const server = JSON.parse(testEnv('redis')) as RedisServer;
  const dir = options.dir ?? (await mkdtemp(join(testEnv('directory'), 'redis-')));
  const port = options.port ?? (await freePort());
  const start = () => startRedis({ server, dir, port, appendonly: options.appendonly ?? false });
  let running: RunningRedis = await start();
  return {
    url: running.url,
    port,
    get pid() {
      return running.pid;
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
