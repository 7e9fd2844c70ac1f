import { randomBase62 } from '@tidegate/contracts';
import { untilNextMs } from '@tidegate/runtime';
import type { Redis } from 'ioredis';
import { reconnectDelayMs } from './connection.ts';

const ECHO_MS = 2_000;
/** After this many echoes that were published but not heard, another server is tried. */
const MAX_UNHEARD = 2;

/**
 * Opens a connection to a server that receives the channel's messages, a different one each time.
 * The connection does not reconnect by itself.
 */
export type Connect = () => Redis;

/**
 * A subscription that moves to another server when its connection is lost or when no messages
 * arrive. A server that hangs, was replaced, or was dropped from its cluster may keep the
 * connection open forever. So the subscription publishes echoes the way notices are published, and
 * expects to hear them.
 */
export class Subscription {
  readonly #channel: string;
  readonly #connect: Connect;
  readonly #publish: (message: string) => Promise<unknown>;
  readonly #onMessage: (message: string) => void;
  readonly #onSubscribed: () => void;
  readonly #echo = JSON.stringify({ echo: randomBase62(12) });
  /** Echoes published since one was last heard. */
  #unheard = 0;
  #redis: Redis | null = null;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #stopped = false;

  constructor(options: {
    readonly channel: string;
    readonly connect: Connect;
    /** Publishes to the channel, wherever that currently goes. */
    readonly publish: (message: string) => Promise<unknown>;
    readonly onMessage: (message: string) => void;
    /** Called after each subscription. Messages may have been missed before. */
    readonly onSubscribed: () => void;
  }) {
    this.#channel = options.channel;
    this.#connect = options.connect;
    this.#publish = options.publish;
    this.#onMessage = options.onMessage;
    this.#onSubscribed = options.onSubscribed;
  }

  start(): void {
    const redis = this.#connect();
    this.#redis = redis;
    redis.on('error', () => {});
    redis.on('message', (_channel, message) => {
      if (message === this.#echo) this.#unheard = 0;
      else this.#onMessage(message);
    });
    redis.on('end', () => this.#onEnd());
    redis.connect().then(
      () => this.#subscribe(redis),
      () => {},
    );
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#redis?.disconnect();
  }

  async #subscribe(redis: Redis): Promise<void> {
    try {
      await redis.subscribe(this.#channel);
      this.#failures = 0;
      this.#unheard = 0;
      this.#onSubscribed();
      this.#listen(redis);
    } catch {
      redis.disconnect();
    }
  }

  #listen(redis: Redis): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      if (this.#unheard >= MAX_UNHEARD) {
        redis.disconnect();
        return;
      }
      // An echo that could not be published does not count as unheard.
      this.#publish(this.#echo).then(
        () => this.#unheard++,
        () => {},
      );
      this.#listen(redis);
    }, untilNextMs(ECHO_MS));
  }

  #onEnd(): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.start(), reconnectDelayMs(++this.#failures));
  }
}
