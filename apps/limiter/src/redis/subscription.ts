import type { Redis } from 'ioredis';
import { ANSWER_TIMEOUT_MS, reconnectDelayMs } from './connection.ts';

/** Well within the time after which silence ends a connection. */
const PING_MS = ANSWER_TIMEOUT_MS / 2;

/** Connections that do not reconnect by themselves, to a server that knows of the channel's messages; another one each time. */
export type Connect = () => Redis;

/** A subscription that is made anew, wherever there is a server for it, whenever its connection is lost. */
export class Subscription {
  readonly #channel: string;
  readonly #connect: Connect;
  readonly #onMessage: (message: string) => void;
  readonly #onSubscribed: () => void;
  #redis: Redis | null = null;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #stopped = false;

  constructor(options: {
    readonly channel: string;
    readonly connect: Connect;
    readonly onMessage: (message: string) => void;
    /** Messages may have been missed before this. */
    readonly onSubscribed: () => void;
  }) {
    this.#channel = options.channel;
    this.#connect = options.connect;
    this.#onMessage = options.onMessage;
    this.#onSubscribed = options.onSubscribed;
  }

  start(): void {
    const redis = this.#connect();
    this.#redis = redis;
    redis.on('error', () => {});
    redis.on('message', (_channel, message) => this.#onMessage(message));
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
      this.#onSubscribed();
      this.#ping(redis);
    } catch {
      redis.disconnect();
    }
  }

  /** A server that went away without a word is noticed by its silence. */
  #ping(redis: Redis): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      redis.ping().then(
        () => this.#ping(redis),
        () => redis.disconnect(),
      );
    }, PING_MS);
  }

  #onEnd(): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.start(), reconnectDelayMs(++this.#failures));
  }
}
