import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, newRequestId, type RefusalCause } from '@tidegate/contracts';
import type { Held } from '../limiter/limiter.ts';
import type { AbortReason } from '../upstream/outcome.ts';

export type Route = 'chat_completions' | 'models' | 'none';

/** One request and its answer, with what is to be told about them in the end. */
export class Exchange {
  /** Names the request, its admission and its completion. */
  readonly id = newRequestId();
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Monotonic. */
  readonly startedAtMs = performance.now();
  route: Route = 'none';
  orgId: string | null = null;
  keyId: string | null = null;
  modelId: string | null = null;
  streamed = false;
  code: ErrorCode | null = null;
  /** Which limit refused it, if one did. */
  cause: RefusalCause | null = null;
  firstChunkAtMs: number | null = null;
  /** Monotonic; from here on the request is counted. */
  reservedAtMs: number | null = null;
  /** Settled when its handler has nothing more to do. */
  handled: Promise<void> = Promise.resolve();
  /** What the limiter holds for this request, under the instance of that time. */
  held: Held | null = null;
  largeBody: Held | null = null;
  /** Of what bodies may hold together. */
  bodyBytesTaken = 0;
  /** Extra headers of whatever answer it gets: names and values in turn. */
  headers: readonly string[] = [];
  /** Why it ends before its answer does. */
  aborted: AbortReason | null = null;
  /** Called once, when it is aborted. */
  onAbort: ((reason: AbortReason) => void) | null = null;
  #controller: AbortController | null = null;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
  }

  get requestId(): string {
    return `req_${this.id}`;
  }

  /** Aborted with the exchange. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(reason: AbortReason): void {
    if (this.aborted) return;
    this.aborted = reason;
    this.#controller?.abort();
    this.onAbort?.(reason);
  }
}

/** The exchanges under way, so that they can be ended together and waited for. */
export class Exchanges {
  readonly #open = new Set<Exchange>();
  #onEmpty: (() => void) | null = null;

  get size(): number {
    return this.#open.size;
  }

  [Symbol.iterator](): Iterator<Exchange> {
    return this.#open.values();
  }

  add(exchange: Exchange): void {
    this.#open.add(exchange);
  }

  delete(exchange: Exchange): void {
    this.#open.delete(exchange);
    if (this.#open.size === 0) this.#onEmpty?.();
  }

  /** Ends those that hold something under a lost instance. */
  abortInstance(instanceId: string): void {
    for (const exchange of this.#open) {
      const { held, largeBody } = exchange;
      if (held?.instanceId === instanceId || largeBody?.instanceId === instanceId)
        exchange.abort('lease_lost');
    }
  }

  abortAll(reason: AbortReason): void {
    for (const exchange of this.#open) exchange.abort(reason);
  }

  /** Resolves when none is left, or after `timeoutMs` with false. */
  empty(timeoutMs: number): Promise<boolean> {
    if (this.#open.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const finish = (empty: boolean) => {
        clearTimeout(timer);
        this.#onEmpty = null;
        resolve(empty);
      };
      const timer = setTimeout(finish, timeoutMs, false);
      this.#onEmpty = () => finish(true);
    });
  }
}
