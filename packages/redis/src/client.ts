import { Cluster, type ClusterNode, Redis, type RedisOptions } from 'ioredis';
import { type Address, parseRedisUrl, type RedisTarget } from './url.ts';

/** One Redis, or a whole cluster. */
export type RedisClient = Redis | Cluster;

/**
 * Options for both kinds of client. With `maxRetriesPerRequest` 0 a command is sent again only when
 * Redis has said that it did not run it. `retryStrategy` is for reconnecting to a server or a
 * cluster.
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

/**
 * How often to ask which node serves which slots. A node that redirects a command triggers this,
 * too.
 */
const MAP_REFRESH_MS = 5_000;
/** How long after the loss of a node to ask again. */
const LOST_REFRESH_MS = 200;
const RETRY_MS = 100;
/** After this time, which includes the DNS look-up, another node is asked for the slots. */
const MAP_ANSWER_TIMEOUT_MS = 2_000;
/**
 * How often to ask a Redis that is loading its data. Its own estimate may be many times too long.
 */
const LOADING_RETRY_MS = 200;
/** After this time without an answer, the next Sentinel is asked. */
const SENTINEL_ANSWER_TIMEOUT_MS = 1_000;

/**
 * Creates a client for a URL (see `parseRedisUrl`). The caller handles `error` events and
 * disconnects.
 * @throws RedisUrlError
 */
export function createRedisClient(url: string, options: ClientOptions = {}): RedisClient {
  const target = parseRedisUrl(url);
  return target.kind === 'cluster' ? createCluster(target, options) : createServerClient(target, options);
}

/** Connects to one server. In a cluster, `address` chooses it. @throws RedisUrlError */
export function createRedisConnection(
  url: string,
  options: ClientOptions = {},
  address: (known: readonly Address[]) => Address | undefined = ([first]) => first,
): Redis {
  const target = parseRedisUrl(url);
  if (target.kind !== 'cluster') return createServerClient(target, options);
  return new Redis({
    ...options,
    maxLoadingRetryTime: LOADING_RETRY_MS,
    ...target.login,
    ...tlsOf(target.tls),
    ...address(target.addresses),
  });
}

function createServerClient(
  target: Exclude<RedisTarget, { kind: 'cluster' }>,
  options: ClientOptions,
): Redis {
  // A server that has become a replica, or has lost its replicas, refuses writes. Reconnecting
  // finds its successor.
  const reconnectOnError = ({ message }: Error) => /^(READONLY|NOREPLICAS) /.test(message);
  const common = { ...options, maxLoadingRetryTime: LOADING_RETRY_MS, reconnectOnError };
  if (target.kind === 'single') return new Redis(target.url, common);
  const { addresses, name, db, tls, login, sentinelLogin } = target;
  return new Redis({
    ...common,
    ...login,
    ...tlsOf(tls),
    sentinels: addresses.map(({ host, port }) => ({ host, port })),
    name,
    db,
    sentinelRetryStrategy: options.retryStrategy ?? (() => null),
    sentinelCommandTimeout: SENTINEL_ANSWER_TIMEOUT_MS,
    // If ioredis' own detector reports a failover while the client asks Sentinels, it ends the
    // client for good. We notice a replaced master without the detector: the master ends
    // connections, refuses writes, or is silent.
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
    // Each connection resolves its own host. ioredis would resolve all names before it connects.
    // Then one missing name would keep it from every node, and a connection that ends meanwhile
    // would leave the client closed for good. Also, certificates name hosts and not addresses.
    dnsLookup: (host, callback) => callback(null, host),
    redisOptions: {
      ...each,
      maxLoadingRetryTime: LOADING_RETRY_MS,
      ...target.login,
      ...tlsOf(target.tls),
    },
  });
  keepMap(cluster);
  connectEarly(cluster);
  return cluster;
}

/**
 * Connects to every node before it is needed. Replicas too, so that one that takes over can be used
 * immediately. This waits until the client is ready: without an offline queue, the client's first
 * query would fail on a node that is still connecting.
 */
function connectEarly(cluster: Cluster): void {
  const connect = (node: Redis) => {
    if (cluster.status === 'ready' && node.status === 'wait') node.connect().catch(() => {});
  };
  cluster.on('+node', connect);
  cluster.on('ready', () => cluster.nodes().forEach(connect));
}

/**
 * Asks which node serves which slots: regularly, and soon after a node is lost. ioredis' own timer
 * is not used. It runs forever if the client disconnects while an answer is pending.
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

const tlsOf = (tls: boolean): { tls?: object } => (tls ? { tls: {} } : {});
