import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { diesWithParent } from '@tidegate/processes';
import { assertPortFree, ServerProcess, untilReady } from '../process.ts';
import { command } from './command.ts';
import { programOf } from './find.ts';
import { type RedisNode, type RedisOptions, type RunningRedis, startRedisNode } from './start.ts';

const READY_TIMEOUT_MS = 30_000;
const FAILOVER_TIMEOUT_MS = 120_000;
const TILT_TRIGGER_MS = 60_000;

export interface RedisSentinelOptions
  extends Pick<RedisOptions, 'server' | 'dir' | 'appendonly' | 'appendfsync' | 'minReplicas'> {
  /** Ports of 127.0.0.1. `redis` has those of the first master and of its replica. */
  readonly ports: { readonly redis: readonly [number, number]; readonly sentinel: number };
  /** A master that is silent for this long is replaced. */
  readonly downAfterMs: number;
}

export interface RunningRedisSentinel {
  /** Names the Sentinel and the master. */
  readonly url: string;
  /**
   * The first node starts as the master. A node that comes back becomes the replica of the other.
   */
  readonly nodes: readonly [RedisNode, RedisNode];
  /** Resolves when the node sees itself as the master, or as a replica in sync with the other. */
  until(node: RedisNode, role: 'master' | 'replica'): Promise<void>;
  /** Changes `downAfterMs`. */
  setDownAfter(ms: number): Promise<void>;
  /** Kills all three, since one may hang. Resolves when they have ended. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a master, a replica in sync with it, and a Sentinel that knows both.
 * @throws EmbeddedError when one of them does not start
 */
export async function startRedisSentinel(options: RedisSentinelOptions): Promise<RunningRedisSentinel> {
  const { ports, downAfterMs: _, dir, ...server } = options;
  const running: { stop(): Promise<void> }[] = [];
  const start = async (port: number) => {
    const node = await startRedisNode({ ...server, port, dir: join(dir, `redis-${port}`) });
    running.push({ stop: () => end(node.running) });
    return node;
  };
  const stop = async () => void (await Promise.all(running.map((one) => one.stop())));
  try {
    const nodes: [RedisNode, RedisNode] = [await start(ports.redis[0]), await start(ports.redis[1])];
    const [master, replica] = nodes;
    await command(replica.port, 'REPLICAOF', '127.0.0.1', master.port);
    const sentinel = await startSentinel(options);
    running.push({ stop: () => sentinel.stop('SIGKILL') });
    const until = (probe: () => Promise<boolean>, timeoutMs = FAILOVER_TIMEOUT_MS) =>
      untilReady('Redis Sentinel', sentinel, () => probe().catch(() => false), timeoutMs);
    await until(async () => (await isInSync(replica)) && (await isKnown(ports.sentinel)), READY_TIMEOUT_MS);
    // A Sentinel that was paused for 2 s does nothing for 30 s (TILT mode). Redis 6 lacks this
    // setting.
    await command(ports.sentinel, 'SENTINEL', 'DEBUG', 'TILT-TRIGGER', TILT_TRIGGER_MS).catch(() => {});
    return {
      url: `redis+sentinel://127.0.0.1:${ports.sentinel}/main`,
      nodes,
      until: (node, role) => until(() => (role === 'master' ? isMaster(node) : isInSync(node))),
      async setDownAfter(ms) {
        for (const setting of silenceOf(ms))
          await command(ports.sentinel, 'SENTINEL', 'SET', 'main', ...setting);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const replicationOf = ({ port }: RedisNode): Promise<string> => command(port, 'INFO', 'replication');
const isMaster = async (node: RedisNode) => (await replicationOf(node)).includes('role:master');
const isInSync = async (node: RedisNode) => (await replicationOf(node)).includes('master_link_status:up');
const isKnown = async (port: number) => (await command(port, 'INFO', 'sentinel')).includes('slaves=1');

async function end({ kill, exited }: RunningRedis): Promise<void> {
  kill('SIGKILL');
  await exited;
}

/** The settings of a Sentinel that replaces a master after this silence. */
const silenceOf = (ms: number): [name: string, ms: number][] => [
  ['down-after-milliseconds', ms],
  ['failover-timeout', 4 * ms],
];

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
    `sentinel monitor main 127.0.0.1 ${ports.redis[0]} 1`,
    ...silenceOf(downAfterMs).map(([name, ms]) => `sentinel ${name} main ${ms}`),
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  return new ServerProcess(await diesWithParent(programOf(server, [file, '--sentinel'])));
}
