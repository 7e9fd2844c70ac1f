import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  findRedis,
  type RunningRedis,
  type RunningRedisSentinel,
  startRedis,
  startRedisSentinel,
} from '@tidegate/embedded';
import { eventually, freePort, TcpProxy } from '@tidegate/testing';
import { Redis } from 'ioredis';

/** Long enough that a busy machine is not mistaken for a dead server. */
const DOWN_AFTER_MS = 2_000;

/** A master and its replica. Services ask a Sentinel for the master's address. */
export class SentinelPair {
  readonly url: string;
  readonly #dir: string;
  readonly #sentinel: RunningRedisSentinel;
  #master = 0;

  private constructor(dir: string, sentinel: RunningRedisSentinel) {
    this.#dir = dir;
    this.#sentinel = sentinel;
    this.url = sentinel.url;
  }

  static async start(): Promise<SentinelPair> {
    const dir = mkdtempSync(join(tmpdir(), 'tidegate-sentinel-'));
    const server = await findRedis({ localDir: join(dir, 'tools') });
    const redis = [await freePort(), await freePort()] as const;
    const ports = { redis, sentinel: await freePort() };
    const settings = { appendfsync: 'always', minReplicas: 1 } as const;
    const options = { ...settings, server, dir, ports, downAfterMs: DOWN_AFTER_MS };
    return new SentinelPair(dir, await startRedisSentinel(options));
  }

  /**
   * Kills or stops the master until its replica has taken over. Then it comes back as the replica.
   */
  async failOver(signal: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
    const { nodes, until } = this.#sentinel;
    const [old, next] = this.#master === 0 ? nodes : [nodes[1], nodes[0]];
    old.running.kill(signal);
    await until(next, 'master');
    if (signal === 'SIGSTOP') old.running.kill('SIGCONT');
    else {
      await old.running.exited;
      await old.start();
    }
    await until(old, 'replica');
    this.#master = 1 - this.#master;
  }

  async stop(): Promise<void> {
    await this.#sentinel.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/**
 * A master and its replica behind one address that always leads to the master, like a floating
 * address or a proxy.
 */
export class RedisPair {
  readonly url: string;
  readonly #dir: string;
  readonly #proxy: TcpProxy;
  readonly #open: (name: string) => Promise<RunningRedis>;
  #master: RunningRedis;
  #replica: RunningRedis;
  /** The names of the master and the replica. */
  #names: [string, string] = ['a', 'b'];

  private constructor(parts: {
    dir: string;
    proxy: TcpProxy;
    open: (name: string) => Promise<RunningRedis>;
    master: RunningRedis;
    replica: RunningRedis;
  }) {
    this.#dir = parts.dir;
    this.#proxy = parts.proxy;
    this.#open = parts.open;
    this.#master = parts.master;
    this.#replica = parts.replica;
    this.url = `redis://127.0.0.1:${parts.proxy.port}`;
  }

  static async start(): Promise<RedisPair> {
    const dir = mkdtempSync(join(tmpdir(), 'tidegate-pair-'));
    const server = await findRedis({ localDir: join(dir, 'tools') });
    const ports: Record<string, number> = { a: await freePort(), b: await freePort() };
    const open = (name: string) =>
      startRedis({ server, dir: join(dir, name), port: ports[name] ?? 0, appendfsync: 'always' });
    const master = await open('a');
    const replica = await open('b');
    const pair = new RedisPair({ dir, proxy: await TcpProxy.start(master.port), open, master, replica });
    await pair.#follow();
    return pair;
  }

  /** Hands over normally: the master takes no writes until the replica has all of them. */
  async handOver(): Promise<void> {
    const { port } = this.#replica;
    await command(this.#master, (redis) =>
      redis.call('FAILOVER', 'TO', '127.0.0.1', String(port), 'TIMEOUT', '5000'),
    );
    await eventually(async () => (await roleOf(this.#replica)) === 'master', { intervalMs: 5 });
    this.#turn();
    await this.#linked();
  }

  /** Kills the master and promotes the replica. The old master comes back as a replica. */
  async failOver(): Promise<void> {
    this.#master.kill('SIGKILL');
    await this.#master.exited;
    await command(this.#replica, (redis) => redis.call('REPLICAOF', 'NO', 'ONE'));
    this.#turn();
    this.#replica = await this.#open(this.#names[1]);
    await this.#follow();
  }

  async stop(): Promise<void> {
    await this.#proxy.stop();
    await this.#replica.stop();
    await this.#master.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #turn(): void {
    [this.#master, this.#replica] = [this.#replica, this.#master];
    this.#names.reverse();
    this.#proxy.redirectTo(this.#master.port);
  }

  async #follow(): Promise<void> {
    const { port } = this.#master;
    await command(this.#replica, (redis) => redis.call('REPLICAOF', '127.0.0.1', String(port)));
    await this.#linked();
  }

  async #linked(): Promise<void> {
    await eventually(async () => /master_link_status:up/.test(await infoOf(this.#replica)), {
      timeoutMs: 30_000,
    });
  }
}

async function command<T>({ port }: RunningRedis, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1', { retryStrategy: () => null });
  redis.on('error', () => {});
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

const infoOf = (server: RunningRedis): Promise<string> =>
  command(server, (redis) => redis.info('replication'));

const roleOf = async (server: RunningRedis): Promise<string> =>
  /role:(\w+)/.exec(await infoOf(server))?.[1] ?? '';
