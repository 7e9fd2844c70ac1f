import { type Redis, ReplyError } from 'ioredis';

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

  async #greet(server: Redis): Promise<void> {
    const greeting = await read(server);
    if (greeting === null || server.status !== 'ready') return;
    this.#greetings.set(server, greeting);
    this.#onConnected(server, greeting);
  }
}

/** Returns null if the connection is lost. */
async function read(server: Redis): Promise<Greeting | null> {
  try {
    // Redis names the count of good replicas only if it requires some.
    const required = /^min_slaves_good_slaves:/m.test(await server.info('replication'));
    const refused = required ? await refusalToWait(server) : null;
    return { awaitsReplica: required && refused === null, refused };
  } catch (error) {
    // A user that may not ask does not learn of the requirement.
    return error instanceof ReplyError ? { awaitsReplica: false, refused: null } : null;
  }
}

/** A replica takes no WAIT either, but it may become the master on this connection. */
async function refusalToWait(server: Redis): Promise<Error | null> {
  try {
    await server.wait(0, 0);
    return null;
  } catch (error) {
    if (!(error instanceof ReplyError && error instanceof Error)) throw error;
    return error.message.startsWith('ERR WAIT cannot be used with replica') ? null : error;
  }
}
