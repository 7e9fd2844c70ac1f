import type { Store } from '../redis/store.ts';
import { type Connect, Subscription } from '../redis/subscription.ts';

/**
 * What limiters tell each other and their sessions: a Notice of limiter.proto, as JSON on a pub/sub
 * channel.
 */
export type Told =
  | { readonly keyRevoked: { readonly keyId: string } }
  | { readonly orgChanged: { readonly orgId: string } }
  | { readonly orgForgotten: { readonly orgId: string } }
  | { readonly addressBlocked: { readonly address: string; readonly remainingMs: number } };

export interface HubOptions {
  readonly store: Store;
  readonly connect: Connect;
  readonly channel: string;
}

/**
 * Delivers every notice to every session of every limiter, including this one. Its creator starts
 * and stops it.
 */
export class NoticeHub {
  readonly #options: HubOptions;
  readonly #subscription: Subscription;
  readonly #listeners = new Set<(notice: Told) => void>();
  readonly #onResubscribed = new Set<() => void>();

  constructor(options: HubOptions) {
    this.#options = options;
    const { connect, channel } = options;
    this.#subscription = new Subscription({
      connect,
      channel,
      publish: (message) => this.#publish(message),
      onMessage: (message) => this.#onMessage(message),
      onSubscribed: () => {
        for (const listener of this.#onResubscribed) listener();
      },
    });
  }

  start(): void {
    this.#subscription.start();
  }

  stop(): void {
    this.#subscription.stop();
  }

  /** Called after every (re)connection. Notices may have been missed before. */
  onSubscribed(listener: () => void): void {
    this.#onResubscribed.add(listener);
  }

  listen(listener: (notice: Told) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Rejects with Undecided. */
  async tell(notice: Told): Promise<void> {
    await this.#publish(JSON.stringify(notice));
  }

  #publish(message: string): Promise<unknown> {
    const { store, channel } = this.#options;
    return store.commandAt(null, 'publish', channel, message);
  }

  #onMessage(message: string): void {
    const notice = parse(message);
    if (notice) for (const listener of this.#listeners) listener(notice);
  }
}

const KINDS = ['keyRevoked', 'orgChanged', 'orgForgotten', 'addressBlocked'];

function parse(message: string): Told | null {
  try {
    const notice = JSON.parse(message) as Told;
    return KINDS.some((kind) => kind in notice) ? notice : null;
  } catch {
    return null;
  }
}
