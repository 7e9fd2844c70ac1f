import { SETTLEMENT_BATCH_MAX, type Settlement, type SettlementBatch } from '@tidegate/contracts';

/** After a pause, the first settlement waits this long, so that usage becomes visible soon. */
const FIRST_WAIT_MS = 25;
/**
 * While settlements keep coming, jobs are sent at this interval, so that several settlements share
 * a job's cost.
 */
const SEND_EVERY_MS = 250;
const CLOSE_MS = 3_000;
/** At most this many waiting settlements keep their traces. */
const MAX_TRACES = 1_000;

export interface PublisherOptions {
  /** Puts one batch into the queue. */
  readonly send: (batch: readonly Settlement[], traces: SettlementBatch['traces']) => Promise<void>;
  /**
   * How many settlements may wait. Beyond that they are dropped here, and the outbox sweep brings
   * them.
   */
  readonly maxWaiting: number;
  /** How many batches may be in transit. */
  readonly maxSending: number;
  readonly onDropped: (count: number, error: unknown) => void;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

/**
 * Publishes settlements in batches: the first one soon, then one every 250 ms or 1,000 settlements,
 * whichever comes first. The outbox holds all of them, so nothing is retried here.
 */
export class SettlementPublisher {
  readonly #options: PublisherOptions;
  #waiting: Settlement[] = [];
  /** By reservation. */
  readonly #traces = new Map<string, string>();
  #timer: NodeJS.Timeout | null = null;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  readonly #sending = new Set<Promise<void>>();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** @param traceparent empty or undefined: it is not traced */
  publish(settlement: Settlement, traceparent?: string): void {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      this.#options.onDropped(1, null);
      return;
    }
    if (traceparent && this.#traces.size < MAX_TRACES)
      this.#traces.set(settlement.reservationId, traceparent);
    this.#waiting.push(settlement);
    if (this.#waiting.length >= SETTLEMENT_BATCH_MAX) this.#sendFull();
    this.#timer ??= setTimeout(() => this.#onTimer(), this.#waitMs());
  }

  /** Sends what is waiting. Resolves when it is in the queue or has been given up. */
  async close(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS, 'late');
    });
    while (this.#waiting.length > 0 || this.#sending.size > 0) {
      while (this.#waiting.length > 0 && this.#sending.size < this.#options.maxSending) this.#sendNext();
      if ((await Promise.race([late, ...this.#sending])) === 'late') break;
    }
    clearTimeout(timer);
  }

  #onTimer(): void {
    this.#timer = null;
    while (this.#waiting.length > 0 && this.#sending.size < this.#options.maxSending) this.#sendNext();
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#onTimer(), SEND_EVERY_MS);
  }

  #waitMs(): number {
    return Math.max(FIRST_WAIT_MS, this.#sentAtMs + SEND_EVERY_MS - this.#options.nowMs());
  }

  #tracesOf(batch: readonly Settlement[]): SettlementBatch['traces'] {
    if (this.#traces.size === 0) return undefined;
    const traces: Record<string, string> = {};
    for (const { reservationId } of batch) {
      const traceparent = this.#traces.get(reservationId);
      if (traceparent === undefined) continue;
      traces[reservationId] = traceparent;
      this.#traces.delete(reservationId);
    }
    return traces;
  }

  #sendFull(): void {
    while (this.#waiting.length >= SETTLEMENT_BATCH_MAX && this.#sending.size < this.#options.maxSending)
      this.#sendNext();
  }

  #sendNext(): void {
    const batch = this.#waiting.splice(0, SETTLEMENT_BATCH_MAX);
    this.#sentAtMs = this.#options.nowMs();
    const sending = this.#options
      .send(batch, this.#tracesOf(batch))
      .catch((error: unknown) => this.#options.onDropped(batch.length, error))
      .finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }
}
