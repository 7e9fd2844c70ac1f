import { Cluster, type ClusterNode, Redis, type RedisOptions } from 'ioredis';
import { type Address, parseRedisUrl, type RedisTarget } from './url.ts';

/** One Redis, or all of a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * What both kinds are told. With `maxRetriesPerRequest` 0 nothing is sent twice, unless Redis has said that it did not run;
 * `retryStrategy` is about reconnecting, to a server as to a cluster.
 */
export type ClientOptions = Pick<
  RedisOptions,
  | 'autoResendUnfulfilledCommands'
  | 'connectTimeout'
  | 'enableOfflineQueue'
  | 'lazyConnect'
  | 'maxRetriesPerRequest'
  | 'retryStrategy'
  | 'socketTimeout'
>;

/** Which node serves what is asked this often, beside every time that a node says it has changed. */
const MAP_REFRESH_MS = 5_000;
/** After a node was lost, until its successor is looked for; and between two such looks. */
const LOST_REFRESH_MS = 200;
const RETRY_MS = 100;
/** A node that does not tell in this time, its name's resolution included, is passed over for another one. */
const MAP_ANSWER_TIMEOUT_MS = 2_000;
/** A Redis that loads its data is asked this often whether it is done: its own guess of how long may be many times too high. */
const LOADING_RETRY_MS = 200;
/** A Sentinel that is silent for this long is passed over. */
const SENTINEL_ANSWER_TIMEOUT_MS = 1_000;

/** A client for what a URL names (`parseRedisUrl`). The caller handles `error`, and disconnects. @throws RedisUrlError */
export function createRedisClient(url: string, options: ClientOptions = {}): RedisClient {
  const target = parseRedisUrl(url);
  return target.kind === 'cluster' ? createCluster(target, options) : createServerClient(target, options);
}

/** One connection to one server: of a cluster the one at `address`. @throws RedisUrlError */
export function createRedisConnection(
  url: string,
  options: ClientOptions = {},
  address: (known: readonly Address[]) => Address | undefined = ([first]) => first,
): Redis {
  const target = parseRedisUrl(url);
  if (target.kind !== 'cluster') return createServerClient(target, options);
  const login = { ...loginOf(target), ...tlsOf(target.tls) };
  return new Redis({
    ...options,
    maxLoadingRetryTime: LOADING_RETRY_MS,
    ...login,
    ...address(target.addresses),
  });
}

function createServerClient(
  target: Exclude<RedisTarget, { kind: 'cluster' }>,
  options: ClientOptions,
): Redis {
  // A server that has become a replica, or has lost its own, refuses writes: its successor is looked for where this one was found.
  const reconnectOnError = ({ message }: Error) => /^(READONLY|NOREPLICAS) /.test(message);
  const common = { ...options, maxLoadingRetryTime: LOADING_RETRY_MS, reconnectOnError };
  if (target.kind === 'single') return new Redis(target.url, common);
  const { addresses, name, db, tls, sentinelLogin } = target;
  return new Redis({
    ...common,
    ...loginOf(target),
    ...tlsOf(tls),
    sentinels: addresses.map(({ host, port }) => ({ host, port })),
    name,
    db,
    sentinelRetryStrategy: options.retryStrategy ?? (() => null),
    sentinelCommandTimeout: SENTINEL_ANSWER_TIMEOUT_MS,
    // ioredis' own detector ends for good a client that is asking Sentinels when it tells of a failover. A master that was replaced
    // is noticed all the same: it ends its connections, refuses writes, or is silent.
    failoverDetector: false,
    ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    ...(sentinelLogin.username ? { sentinelUsername: sentinelLogin.username } : {}),
    ...(sentinelLogin.password ? { sentinelPassword: sentinelLogin.password } : {}),
  });
}

function createCluster(target: Extract<RedisTarget, { kind: 'cluster' }>, options: ClientOptions): Cluster {
  const { lazyConnect = false, enableOfflineQueue = true, retryStrategy, ...each } = options;
  const nodes: ClusterNode[] = target.addresses.map(({ host, port }) => ({ host, port }));
  const retryMs = options.maxRetriesPerRequest === 0 ? 0 : RETRY_MS;
  const cluster = new Cluster(nodes, {
    lazyConnect,
    enableOfflineQueue,
    ...(retryStrategy ? { clusterRetryStrategy: retryStrategy } : {}),
    retryDelayOnFailover: retryMs,
    retryDelayOnClusterDown: retryMs,
    slotsRefreshInterval: 0,
    slotsRefreshTimeout: MAP_ANSWER_TIMEOUT_MS,
    // Each connection looks its host up itself. ioredis would look all up before it connects: one name that is gone would keep it from
    // every node, a connection that ends meanwhile would leave it closed for good, and certificates name hosts, not addresses.
    dnsLookup: (host, callback) => callback(null, host),
    redisOptions: {
      ...each,
      maxLoadingRetryTime: LOADING_RETRY_MS,
      ...loginOf(target),
      ...tlsOf(target.tls),
    },
  });
  keepMap(cluster);
  connectEarly(cluster);
  return cluster;
}

/**
 * Connects to every node before it is needed, replicas too: one that takes over is there at once. But to none before the cluster's
 * own first question: asked of a node that is connecting, it fails where commands do not wait.
 */
function connectEarly(cluster: Cluster): void {
  const connect = (node: Redis) => {
    if (cluster.status === 'ready' && node.status === 'wait') node.connect().catch(() => {});
  };
  cluster.on('+node', connect);
  cluster.on('ready', () => cluster.nodes().forEach(connect));
}

/**
 * Asks which node serves what: regularly, and soon after a node was lost, for as long as some node is there. ioredis' own timer
 * is not used: of a cluster that is disconnected while the answer is awaited it goes on for ever.
 */
function keepMap(cluster: Cluster): void {
  let regular: NodeJS.Timeout | undefined;
  let soon: NodeJS.Timeout | undefined;
  const refresh = () => {
    if (cluster.status === 'ready') cluster.refreshSlotsCache(() => {});
  };
  cluster.on('ready', () => {
    clearInterval(regular);
    regular = setInterval(refresh, MAP_REFRESH_MS);
  });
  cluster.on('-node', () => {
    soon ??= setTimeout(() => {
      soon = undefined;
      refresh();
    }, LOST_REFRESH_MS);
  });
  cluster.on('close', () => {
    clearInterval(regular);
    clearTimeout(soon);
    soon = undefined;
  });
}

const loginOf = ({ username, password }: { readonly username?: string; readonly password?: string }) => ({
  ...(username ? { username } : {}),
  ...(password ? { password } : {}),
});

const tlsOf = (tls: boolean): { tls?: object } => (tls ? { tls: {} } : {});
