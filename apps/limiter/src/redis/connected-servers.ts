import type { Redis } from 'ioredis';

/** What a server said when it was connected. */
export interface Greeting {
  /**
   * Whether a replica must have a write before its answer counts: the server has
   * `min-replicas-to-write`.
   */
  readonly awaitsReplica: boolean;
  /** Why a replica is not awaited although the server requires one. */
  readonly refused: Error | null;
}

/** Called after each connection, before the first command. */
export type OnConnected = (server: Redis, greeting: Greeting) => void;

/**
 * The servers that have a connection. A connection counts from the moment when its server has said
 * whether it requires replicas.
 */
export class ConnectedServers {
  readonly #onConnected: OnConnected;
  readonly #greetings = new WeakMap<Redis, Greeting>();

  constructor(onConnected: OnConnected) {
    this.#onConnected = onConnected;
  }

  /** The server must not be connected yet. */
  watch(server: Redis): void {
    server.on('ready', () => void this.#greet(server));
    server.on('close', () => this.#greetings.delete(server));
  }

  has(server: Redis): boolean {
    return server.status === 'ready' && this.#greetings.has(server);
  }

  awaitsReplica(server: Redis): boolean {
    return this.#greetings.get(server)?.awaitsReplica === true;
  }

  /** If the server does not say, the connection is replaced, and the next one is asked. */
  async #greet(server: Redis): Promise<void> {
    const greeting = await read(server).catch(() => null);
    if (server.status !== 'ready') return;
    if (greeting === null) return server.disconnect(true);
    this.#greetings.set(server, greeting);
    this.#onConnected(server, greeting);
  }
}

/** A user that may not run INFO does not learn of the requirement. */
async function read(server: Redis): Promise<Greeting> {
  const told = await server.info('replication').catch(refusalOf);
  // Redis names the count of good replicas only if it requires some.
  if (typeof told !== 'string' || !/^min_slaves_good_slaves:/m.test(told))
    return { awaitsReplica: false, refused: null };
  const waited = await server.wait(0, 0).catch(refusalOf);
  return waited instanceof Error && !isOfReplica(waited)
    ? { awaitsReplica: false, refused: waited }
    : { awaitsReplica: true, refused: null };
}

/** Returns an error that says that the server does not do this for this user. Rethrows others. */
function refusalOf(error: Error): Error {
  if (/^NOPERM |^ERR unknown command/.test(error.message) || isOfReplica(error)) return error;
  throw error;
}

/** A replica takes no WAIT, but it may become the master on this connection. */
const isOfReplica = ({ message }: Error): boolean =>
  /^(ERR WAIT cannot be used with replica|MASTERDOWN )/.test(message);
