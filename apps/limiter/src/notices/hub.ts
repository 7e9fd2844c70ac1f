import type { Store } from '../redis/store.ts';
import { type Connect, Subscription } from '../redis/subscription.ts';

/** A Notice of limiter.proto. Limiters publish it for the sessions of all limiters. */
export type PublishedNotice =
  | { readonly keyRevoked: { readonly keyId: string } }
  | { readonly orgChanged: { readonly orgId: string } }
  | { readonly orgDeleted: { readonly orgId: string } }
  | { readonly orgStateLost: { readonly orgId: string } }
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
  readonly #listeners = new Set<(notice: PublishedNotice) => void>();
  readonly #onSubscribed = new Set<() => void>();

  constructor(options: HubOptions) {
    this.#options = options;
    const { connect, channel } = options;
    this.#subscription = new Subscription({
      connect,
      channel,
      publish: (message) => this.#send(message),
      onMessage: (message) => this.#onMessage(message),
      onSubscribed: () => {
        for (const listener of this.#onSubscribed) listener();
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
    this.#onSubscribed.add(listener);
  }

  listen(listener: (notice: PublishedNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells only the listeners of this limiter, but immediately. */
  tell(notice: PublishedNotice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  /** Tells the listeners of all limiters. Rejects with LimiterError. */
  async publish(notice: PublishedNotice): Promise<void> {
    await this.#send(encode(notice));
  }

  #send(message: string): Promise<unknown> {
    const { store, channel } = this.#options;
    return store.commandAt(null, 'publish', channel, message);
  }

  #onMessage(message: string): void {
    const notice = parse(message);
    if (notice) this.tell(notice);
  }
}

const KINDS = ['keyRevoked', 'orgChanged', 'orgDeleted', 'addressBlocked'];

/** On the channel, `orgStateLost` keeps the name that limiters of earlier versions know. */
interface OrgStateLostMessage {
  readonly orgForgotten?: { readonly orgId: string };
}

const encode = (notice: PublishedNotice): string =>
  JSON.stringify(
    'orgStateLost' in notice ? ({ orgForgotten: notice.orgStateLost } satisfies OrgStateLostMessage) : notice,
  );

function parse(message: string): PublishedNotice | null {
  try {
    const { orgForgotten, ...others } = JSON.parse(message) as PublishedNotice & OrgStateLostMessage;
    if (orgForgotten) return { orgStateLost: orgForgotten };
    return KINDS.some((kind) => kind in others) ? others : null;
  } catch {
    return null;
  }
}
