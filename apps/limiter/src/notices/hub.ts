import type { Redis } from 'ioredis';
import type { Store } from '../redis/store.ts';

/** What limiters tell each other and their sessions; a Notice of limiter.proto, as JSON on a pub/sub channel. */
export type Told =
  | { readonly keyRevoked: { readonly keyId: string } }
  | { readonly orgChanged: { readonly orgId: string } }
  | { readonly addressBlocked: { readonly address: string; readonly remainingMs: number } };

export interface HubOptions {
  readonly store: Store;
  /** A connection of its own; the hub connects and closes it. */
  readonly subscriber: Redis;
  readonly channel: string;
}

/** Every notice reaches every session of every limiter, this one's included. */
export class NoticeHub {
  readonly #options: HubOptions;
  readonly #listeners = new Set<(notice: Told) => void>();
  readonly #onResubscribed = new Set<() => void>();

  constructor(options: HubOptions) {
    this.#options = options;
    const { subscriber, channel } = options;
    subscriber.on('message', (_channel, message) => this.#onMessage(message));
    subscriber.on('ready', () => {
      void subscriber.subscribe(channel).then(
        () => {
          for (const listener of this.#onResubscribed) listener();
        },
        // The connection has gone again; the next `ready` subscribes.
        () => {},
      );
    });
  }

  /** Notices may have been missed before this: called after every (re)connection. */
  onSubscribed(listener: () => void): void {
    this.#onResubscribed.add(listener);
  }

  listen(listener: (notice: Told) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Rejects with Undecided. */
  async tell(notice: Told): Promise<void> {
    await this.#options.store.command('publish', this.#options.channel, JSON.stringify(notice));
  }

  #onMessage(message: string): void {
    const notice = parse(message);
    if (notice) for (const listener of this.#listeners) listener(notice);
  }
}

function parse(message: string): Told | null {
  try {
    const notice = JSON.parse(message) as Told;
    return 'keyRevoked' in notice || 'orgChanged' in notice || 'addressBlocked' in notice ? notice : null;
  } catch {
    return null;
  }
}
