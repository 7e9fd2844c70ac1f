import { type RedisClient, slotOf } from '@tidegate/redis';
import { type Cluster, Redis } from 'ioredis';

/**
 * The servers that hold the keys: a single Redis, or the masters of a cluster. All keys of one
 * script are on the same server.
 */
export interface Shards {
  /**
   * The server of a key as far as known, or any server for a null key. Returns null if that server
   * is unavailable.
   */
  of(key: string | null): Redis | null;
  /** The servers that are available. */
  all(): readonly Redis[];
  /** Whether the servers of all keys are available. */
  whole(): boolean;
  /**
   * Sends a command to the right server if the first one refused to run it because its keys have
   * moved (`hasMoved`).
   */
  follow(command: string, args: readonly (string | number)[]): Promise<unknown>;
}

export const shardsOf = (client: RedisClient): Shards =>
  client instanceof Redis ? new OneServer(client) : new ClusterMasters(client);

/**
 * True if a cluster node refused a command because some or all of its keys are on another node.
 * Nothing was run.
 */
export const hasMoved = ({ message }: Error): boolean => /^(MOVED|ASK|TRYAGAIN) /.test(message);

class OneServer implements Shards {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  of = (): Redis => this.#redis;
  all = (): readonly Redis[] => (this.whole() ? [this.#redis] : []);
  whole = (): boolean => this.#redis.status === 'ready';
  follow = (command: string): Promise<unknown> =>
    Promise.reject(new Error(`${command} cannot be redirected by a single Redis server`));
}

const isReady = (node: Redis | undefined): node is Redis => node?.status === 'ready';

class ClusterMasters implements Shards {
  readonly #cluster: Cluster;
  readonly #nodes = new Map<string, Redis>();
  #turn = 0;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    cluster.on('+node', (node: Redis) => this.#nodes.set(nameOf(node), node));
    cluster.on('-node', (node: Redis) => {
      if (this.#nodes.get(nameOf(node)) === node) this.#nodes.delete(nameOf(node));
    });
  }

  of(key: string | null): Redis | null {
    if (key === null) {
      const masters = this.all();
      return masters[this.#turn++ % masters.length] ?? null;
    }
    const node = this.#nodes.get(this.#cluster.slots[slotOf(key)]?.[0] ?? '');
    return isReady(node) ? node : null;
  }

  all(): readonly Redis[] {
    return [...this.#names()].map((name) => this.#nodes.get(name)).filter(isReady);
  }

  whole(): boolean {
    const names = [...this.#names()];
    return names.length > 0 && names.every((name) => isReady(this.#nodes.get(name)));
  }

  follow(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#cluster.call(command, [...args]);
  }

  #names(): Set<string> {
    const names = new Set<string>();
    // Slots of one range share the array that names their nodes.
    let last: readonly string[] | undefined;
    for (const nodes of this.#cluster.slots) {
      if (nodes === last) continue;
      last = nodes;
      names.add(nodes?.[0] ?? '');
    }
    return names;
  }
}

const nameOf = ({ options }: Redis): string => `${options.host}:${options.port}`;
