import type { Socket } from 'node:net';
import {
  Channel,
  ChannelCredentials,
  type ChannelInterface,
  type ChannelOptions,
  connectivityState,
} from '@grpc/grpc-js';

/**
 * How long a connection may take to be established: TCP, TLS and the server's first bytes. A
 * healthy process answers sooner, even on a busy machine.
 */
const CONNECT_MS = 5_000;

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type CreateConnector = Parameters<ChannelCredentials['_createSecureConnector']>;

/** Credentials that know which connections were made with them. */
class TrackingCredentials extends ChannelCredentials {
  readonly #credentials: ChannelCredentials;
  readonly #sockets = new Set<Socket>();
  #broken = false;

  constructor(credentials: ChannelCredentials) {
    super();
    this.#credentials = credentials;
  }

  _isSecure(): boolean {
    return this.#credentials._isSecure();
  }

  /**
   * Channels with equal credentials share connections, and a new channel must not get one that
   * hangs.
   */
  _equals(other: ChannelCredentials): boolean {
    return other === this;
  }

  _createSecureConnector(...how: CreateConnector): SecureConnector {
    const connector = this.#credentials._createSecureConnector(...how);
    return {
      connect: (socket) => {
        // gRPC then closes the socket.
        if (this.#broken) return Promise.reject(new Error('the connection came too late'));
        this.#sockets.add(socket);
        socket.once('close', () => this.#sockets.delete(socket));
        return connector.connect(socket);
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }

  /** Breaks off all connections, and those that are still to come. */
  break(): void {
    this.#broken = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}

interface Attempt {
  readonly channel: Channel;
  readonly credentials: TrackingCredentials;
}

/**
 * A channel that does not wait long for a connection. gRPC's own waits until TCP gives up, and
 * forever for a server that accepts but says nothing, such as a process that hangs. Meanwhile it
 * does not look up its host again. This one soon opens a new channel, which does. Calls that were
 * waiting fail with UNAVAILABLE. It shares no connections with other channels.
 */
export class BoundedChannel implements ChannelInterface {
  readonly #open: () => Attempt;
  readonly #connectMs: () => number;
  #attempt: Attempt;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    target: string,
    credentials: ChannelCredentials,
    options: ChannelOptions,
    /** How long the next connection may take. */
    connectMs = () => CONNECT_MS,
  ) {
    this.#connectMs = connectMs;
    this.#open = () => {
      const tracking = new TrackingCredentials(credentials);
      return { channel: new Channel(target, tracking, options), credentials: tracking };
    };
    this.#attempt = this.#open();
    this.#follow(this.#attempt.channel);
  }

  close(): void {
    this.#end(this.#attempt);
  }

  getTarget(): string {
    return this.#attempt.channel.getTarget();
  }

  getConnectivityState(tryToConnect: boolean): connectivityState {
    return this.#attempt.channel.getConnectivityState(tryToConnect);
  }

  watchConnectivityState(...how: Parameters<ChannelInterface['watchConnectivityState']>): void {
    this.#attempt.channel.watchConnectivityState(...how);
  }

  getChannelzRef(): ReturnType<ChannelInterface['getChannelzRef']> {
    return this.#attempt.channel.getChannelzRef();
  }

  createCall(...how: Parameters<ChannelInterface['createCall']>): ReturnType<ChannelInterface['createCall']> {
    return this.#attempt.channel.createCall(...how);
  }

  /** Measures how long the channel has been trying to connect, including failures in between. */
  #follow(channel: Channel): void {
    const state = channel.getConnectivityState(false);
    if (state === connectivityState.SHUTDOWN) return;
    const trying = state === connectivityState.CONNECTING || state === connectivityState.TRANSIENT_FAILURE;
    if (trying) this.#timer ??= setTimeout(() => this.#replace(), this.#connectMs());
    else this.#stopTimer();
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => this.#follow(channel));
  }

  #replace(): void {
    const former = this.#attempt;
    // Done first, because callers whose calls fail may call again immediately.
    this.#attempt = this.#open();
    this.#end(former);
    this.#follow(this.#attempt.channel);
  }

  /** Calls in progress still run to their end. */
  #end({ channel, credentials }: Attempt): void {
    this.#stopTimer();
    const connected = channel.getConnectivityState(false) === connectivityState.READY;
    channel.close();
    if (!connected) credentials.break();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
