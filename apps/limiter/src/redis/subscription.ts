import { randomBase62 } from '@tidegate/contracts';
import type { Redis } from 'ioredis';
import { reconnectDelayMs } from './connection.ts';

const ECHO_MS = 1_000;
/** So many echoes that were published and not heard: the next server is asked. */
const MAX_UNHEARD = 3;

/** Connections that do not reconnect by themselves, to a server that knows of the channel's messages; another one each time. */
export type Connect = () => Redis;

/**
 * A subscription that is made anew, wherever there is a server for it, whenever its connection is lost or nothing comes through: a
 * server that hangs, that was replaced, or that its cluster has lost may hold the connection for ever. It publishes echoes as
 * notices are published, and expects to hear them.
 */
export class Subscription {
  readonly #channel: string;
  readonly #connect: Connect;
  readonly #publish: (message: string) => Promise<unknown>;
  readonly #onMessage: (message: string) => void;
  readonly #onSubscribed: () => void;
  readonly #echo = JSON.stringify({ echo: randomBase62(12) });
  /** Echoes published since one was heard. */
  #unheard = 0;
  #redis: Redis | null = null;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #stopped = false;

  constructor(options: {
    readonly channel: string;
    readonly connect: Connect;
    /** To the channel, wherever that is published to now. */
    readonly publish: (message: string) => Promise<unknown>;
    readonly onMessage: (message: string) => void;
    /** Messages may have been missed before this. */
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
      // One that cannot be published is not missed.
      this.#publish(this.#echo).then(
        () => this.#unheard++,
        () => {},
      );
      this.#listen(redis);
    }, ECHO_MS);
  }

  #onEnd(): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.start(), reconnectDelayMs(++this.#failures));
  }
}
