import { join } from 'node:path';
import { until } from '@tidegate/processes';
import { EmbeddedError } from '../errors.ts';
import { command } from './command.ts';
import { type RedisNode, type RedisOptions, startRedisNode } from './start.ts';

const SLOTS = 16_384;
const NODE_TIMEOUT_MS = 2_000;
const JOIN_TIMEOUT_MS = 30_000;
const ASK_EVERY_MS = 25;

export interface RedisClusterOptions
  extends Pick<RedisOptions, 'server' | 'dir' | 'appendonly' | 'appendfsync' | 'onLog'> {
  /**
   * A port and a bus port of 127.0.0.1 for each node. First come the masters, then one replica for
   * each, or none.
   */
  readonly ports: readonly { readonly port: number; readonly busPort: number }[];
  readonly masters: number;
  /** A node that is unreachable for this long is failed over. Default: 2 s. */
  readonly nodeTimeoutMs?: number;
}

/** A node. When it starts again, it rejoins the cluster. */
export interface ClusterNode extends RedisNode {
  /** Whether the node sees itself as a master that serves slots. */
  isMaster(): Promise<boolean>;
}

export interface RunningRedisCluster {
  /** Names every node. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** Resolves when all running nodes agree that every slot is served. */
  whole(): Promise<void>;
  /** Ends every node. Resolves when all have ended. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a Redis Cluster on 127.0.0.1. The masters share the slots evenly. Each has one replica if
 * there are ports for it.
 * @throws EmbeddedError when a node does not start or they form no cluster
 */
export async function startRedisCluster(options: RedisClusterOptions): Promise<RunningRedisCluster> {
  const { ports, masters } = options;
  const nodes = await Promise.all(ports.map((_, i) => startNode(options, i)));
  const cluster: RunningRedisCluster = {
    url: `redis+cluster://${ports.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    whole: () => untilWhole(nodes),
    stop: async () => void (await Promise.all(nodes.map(({ running }) => running.stop()))),
  };
  try {
    await shareSlots(nodes.slice(0, masters));
    for (const { port, busPort } of ports.slice(1))
      await command(ports[0]?.port ?? 0, 'CLUSTER', 'MEET', '127.0.0.1', port, busPort);
    await Promise.all(nodes.map((node) => joined(async () => (await knownBy(node)) === nodes.length)));
    await Promise.all(nodes.slice(masters).map((node, i) => follow(node, nodes[i % masters])));
    await cluster.whole();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function startNode(options: RedisClusterOptions, index: number): Promise<ClusterNode> {
  const { ports, masters: _, nodeTimeoutMs = NODE_TIMEOUT_MS, dir, ...server } = options;
  const { port, busPort } = ports[index] ?? { port: 0, busPort: 0 };
  const cluster = { busPort, nodeTimeoutMs };
  const node = await startRedisNode({ ...server, port, dir: join(dir, `node-${index}`), cluster });
  return {
    port,
    get running() {
      return node.running;
    },
    start: node.start,
    isMaster: async () =>
      /^\S+ \S+ myself,master .* \d+(-\d+)?/m.test(await command(port, 'CLUSTER', 'NODES')),
  };
}

async function shareSlots(masters: readonly ClusterNode[]): Promise<void> {
  for (const [i, { port }] of masters.entries()) {
    const first = Math.floor((SLOTS * i) / masters.length);
    const last = Math.floor((SLOTS * (i + 1)) / masters.length) - 1;
    await command(port, 'CLUSTER', 'ADDSLOTSRANGE', first, last);
    // Nodes agree immediately after they meet if each has its own epoch.
    await command(port, 'CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
  }
}

async function follow(replica: ClusterNode, master: ClusterNode | undefined): Promise<void> {
  if (!master) return;
  const id = await command(master.port, 'CLUSTER', 'MYID');
  await command(replica.port, 'CLUSTER', 'REPLICATE', id);
  await joined(async () =>
    (await command(replica.port, 'INFO', 'replication')).includes('master_link_status:up'),
  );
}

async function untilWhole(nodes: readonly ClusterNode[]): Promise<void> {
  const isWhole = async ({ port }: ClusterNode): Promise<boolean> => {
    const info = await command(port, 'CLUSTER', 'INFO');
    return info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${SLOTS}`);
  };
  await joined(async () => {
    const answers = await Promise.allSettled(nodes.map(isWhole));
    const told = answers.filter((answer) => answer.status === 'fulfilled');
    return told.length > 0 && told.every(({ value }) => value);
  });
}

async function knownBy({ port }: ClusterNode): Promise<number> {
  const nodes = await command(port, 'CLUSTER', 'NODES');
  return nodes.split('\n').filter((line) => line !== '' && !line.includes('handshake')).length;
}

async function joined(probe: () => Promise<boolean>): Promise<void> {
  if (!(await until(probe, { timeoutMs: JOIN_TIMEOUT_MS, intervalMs: ASK_EVERY_MS })))
    throw new EmbeddedError('the Redis nodes did not form a cluster');
}
