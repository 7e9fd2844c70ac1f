import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertPortFree, diesWithParent, ServerProcess, untilReady } from '../process.ts';
import { command, programOf } from './command.ts';
import type { RedisServer } from './find.ts';
import { type RunningRedis, startRedis } from './start.ts';

const READY_TIMEOUT_MS = 30_000;

export interface RedisSentinelOptions {
  /** As found by `findRedis`. */
  readonly server: RedisServer;
  /** Where all three keep their data; created when absent. */
  readonly dir: string;
  /** Of 127.0.0.1. */
  readonly ports: { readonly master: number; readonly replica: number; readonly sentinel: number };
  /** A master that is silent for this long is replaced. */
  readonly downAfterMs: number;
}

export interface RunningRedisSentinel {
  /** Names the Sentinel, and the master by its name. */
  readonly url: string;
  /** As they began. */
  readonly master: RunningRedis;
  readonly replica: RunningRedis;
  /** Ends all three by force, since one may hang; resolves when they are gone. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a master, a replica in step with it, and a Sentinel that knows both.
 * @throws EmbeddedError when one of them does not come up
 */
export async function startRedisSentinel(options: RedisSentinelOptions): Promise<RunningRedisSentinel> {
  const { server, dir, ports } = options;
  const running: { stop(): Promise<void> }[] = [];
  const start = async (name: 'master' | 'replica') => {
    const redis = await startRedis({ server, dir: join(dir, name), port: ports[name], appendonly: false });
    running.push({ stop: () => end(redis) });
    return redis;
  };
  const stop = async () => void (await Promise.all(running.map((one) => one.stop())));
  try {
    const [master, replica] = [await start('master'), await start('replica')];
    await command(replica.port, 'REPLICAOF', '127.0.0.1', master.port);
    const sentinel = await startSentinel(options);
    running.push({ stop: () => sentinel.stop('SIGKILL') });
    const inStep = async () =>
      (await command(replica.port, 'INFO', 'replication')).includes('master_link_status:up') &&
      (await command(ports.sentinel, 'INFO', 'sentinel')).includes('slaves=1');
    await untilReady('Redis Sentinel', sentinel, () => inStep().catch(() => false), READY_TIMEOUT_MS);
    return { url: `redis+sentinel://127.0.0.1:${ports.sentinel}/main`, master, replica, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function end(redis: RunningRedis): Promise<void> {
  redis.kill('SIGKILL');
  await redis.exited;
}

async function startSentinel({
  server,
  dir,
  ports,
  downAfterMs,
}: RedisSentinelOptions): Promise<ServerProcess> {
  await assertPortFree('Redis Sentinel', ports.sentinel);
  const file = join(dir, 'sentinel.conf');
  const lines = [
    `port ${ports.sentinel}`,
    'bind 127.0.0.1',
    `dir ${dir}`,
    `sentinel monitor main 127.0.0.1 ${ports.master} 1`,
    `sentinel down-after-milliseconds main ${downAfterMs}`,
    `sentinel failover-timeout main ${4 * downAfterMs}`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  return new ServerProcess(await diesWithParent(programOf(server, [file, '--sentinel'])));
}
