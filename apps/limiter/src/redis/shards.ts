import { type RedisClient, slotOf } from '@tidegate/redis';
import { type Cluster, Redis } from 'ioredis';
import { ConnectedServers, type OnConnected } from './connected-servers.ts';

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
   * Whether an answer of this server counts only when a replica has every write that it depends
   * on.
   */
  awaitsReplica(server: Redis): boolean;
  /**
   * Sends a command to the right server if the first one refused to run it because its keys have
   * moved (`hasMoved`). The reply is one that counts.
   */
  follow(command: string, args: readonly (string | number)[]): Promise<unknown>;
}

/** The client must not be connected yet. */
export function shardsOf(client: RedisClient, onConnected: OnConnected = () => {}): Shards {
  const servers = new ConnectedServers(onConnected);
  return client instanceof Redis ? new OneServer(client, servers) : new ClusterMasters(client, servers);
}

/**
 * True if a cluster node refused a command because some or all of its keys are on another node.
 * Nothing was run.
 */
export const hasMoved = ({ message }: Error): boolean => /^(MOVED|ASK|TRYAGAIN) /.test(message);

class OneServer implements Shards {
  readonly #redis: Redis;
  readonly #servers: ConnectedServers;

  constructor(redis: Redis, servers: ConnectedServers) {
    this.#redis = redis;
    this.#servers = servers;
    servers.watch(redis);
  }

  of = (): Redis | null => (this.whole() ? this.#redis : null);
  all = (): readonly Redis[] => (this.whole() ? [this.#redis] : []);
  whole = (): boolean => this.#servers.has(this.#redis);
  awaitsReplica = (): boolean => this.#servers.awaitsReplica(this.#redis);
  follow = (command: string): Promise<unknown> =>
    Promise.reject(new Error(`${command} cannot be redirected by a single Redis server`));
}

class ClusterMasters implements Shards {
  readonly #cluster: Cluster;
  readonly #servers: ConnectedServers;
  readonly #nodes = new Map<string, Redis>();
  #turn = 0;

  constructor(cluster: Cluster, servers: ConnectedServers) {
    this.#cluster = cluster;
    this.#servers = servers;
    cluster.on('+node', (node: Redis) => {
      servers.watch(node);
      this.#nodes.set(nameOf(node), node);
    });
    cluster.on('-node', (node: Redis) => {
      if (this.#nodes.get(nameOf(node)) === node) this.#nodes.delete(nameOf(node));
    });
  }

  of(key: string | null): Redis | null {
    if (key === null) {
      const masters = this.all();
      return masters[this.#turn++ % masters.length] ?? null;
    }
    return this.#connected(this.#cluster.slots[slotOf(key)]?.[0] ?? '');
  }

  all(): readonly Redis[] {
    return [...this.#names()].map((name) => this.#connected(name)).filter((node) => node !== null);
  }

  whole(): boolean {
    const names = [...this.#names()];
    return names.length > 0 && names.every((name) => this.#connected(name) !== null);
  }

  awaitsReplica(server: Redis): boolean {
    return this.#servers.awaitsReplica(server);
  }

  async follow(command: string, args: readonly (string | number)[]): Promise<unknown> {
    const reply = await this.#cluster.call(command, [...args]);
    // The client does not say which of its servers has replied.
    const servers = [...this.#nodes.values()].filter((node) => !isReplica(node) && this.awaitsReplica(node));
    await Promise.all(servers.map((server) => server.wait(1, 0)));
    return reply;
  }

  #connected(name: string): Redis | null {
    const node = this.#nodes.get(name);
    return node && this.#servers.has(node) ? node : null;
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

/**
 * True if the server is a replica by the cluster's last map. Replicas are never queried. One that
 * cannot be reached is retried at each refresh of the map.
 */
export const isReplica = ({ options }: Redis): boolean => options.readOnly === true;

const nameOf = ({ options }: Redis): string => `${options.host}:${options.port}`;
