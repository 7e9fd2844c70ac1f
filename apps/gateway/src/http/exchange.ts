import type { IncomingMessage, ServerResponse } from 'node:http';
import { newRequestId } from '@tidegate/contracts';
import type { Holdings } from '../completion/holdings.ts';
import type { Aborted, AbortReason } from '../ending.ts';
import { type Linked, LinkedList } from '../linked-list.ts';
import { RequestFacts } from '../observe/facts.ts';
import type { RequestTrace } from '../observe/trace.ts';

/** One request and its answer. */
export class Exchange implements Linked<Exchange> {
  /** Identifies the request, its admission and its completion. */
  readonly id = newRequestId();
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly facts = new RequestFacts();
  /** What the request holds of the shared resources. Null if nothing yet. */
  held: Holdings | null = null;
  /** Null: tracing is off, or the caller is not known. */
  trace: RequestTrace | null = null;
  /** Settles when the handler is done. */
  handled: Promise<void> = Promise.resolve();
  /** Extra headers for whatever answer is sent: names and values alternate. */
  headers: readonly string[] = [];
  /**
   * Whether the client may be waiting for `100 Continue` before it sends its body. Node closes the
   * connection if we answer without it, because it cannot tell whether the body will follow.
   */
  awaitsContinue = false;
  /** True if the body did not arrive together with the head, so that reading it took time. */
  bodyAwaited = false;
  /** Whether an answer was broken off after it had begun. */
  brokenOff = false;
  /** Why the exchange ended before its answer was complete. */
  aborted: Aborted | null = null;
  /** Called once, on abort. */
  onAbort: ((aborted: Aborted) => void) | null = null;
  previous: Exchange | null = null;
  next: Exchange | null = null;
  listed = false;
  #controller: AbortController | null = null;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
  }

  get requestId(): string {
    return `req_${this.id}`;
  }

  /** Aborts with the exchange. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** If the client is waiting to be told to send its body, tells it, once. */
  inviteBody(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.response.writeContinue();
  }

  /** Only the first reason counts. */
  abort(reason: AbortReason): Aborted {
    if (this.aborted) return this.aborted;
    const aborted = { kind: 'aborted', reason } as const;
    this.aborted = aborted;
    this.#controller?.abort();
    this.onAbort?.(aborted);
    return aborted;
  }
}

/** The exchanges in progress, so that they can be awaited and ended together. */
export class Exchanges {
  readonly #open = new LinkedList<Exchange>();
  #onEmpty: (() => void) | null = null;

  get size(): number {
    return this.#open.size;
  }

  [Symbol.iterator](): Iterator<Exchange> {
    return this.#open[Symbol.iterator]();
  }

  add(exchange: Exchange): void {
    this.#open.add(exchange);
  }

  delete(exchange: Exchange): void {
    this.#open.delete(exchange);
    if (this.#open.size === 0) this.#onEmpty?.();
  }

  /** Aborts the exchanges that hold something under a lost instance. */
  abortInstance(instanceId: string): void {
    for (const exchange of this.#open) if (exchange.held?.forget(instanceId)) exchange.abort('lease_lost');
  }

  /** Aborts the exchanges of a deleted organization. */
  abortOrg(orgId: string): void {
    for (const exchange of this.#open) if (exchange.held?.orgId === orgId) exchange.abort('org_deleted');
  }

  abortAll(reason: AbortReason): void {
    for (const exchange of this.#open) exchange.abort(reason);
  }

  /** Resolves to true when no exchange is left, or to false after `timeoutMs`. */
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
