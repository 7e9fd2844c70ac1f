import { createDb, type Db } from '@tidegate/db';
import { createOutage, type Logger, type Outage, within } from '@tidegate/runtime';
import { pause } from '../pause.ts';
import {
  type Candidate,
  type ConditionChange,
  endLease,
  readLease,
  renewLease,
  takeLease,
  writeConditionUnder,
} from './lease.ts';
import { hasEnded } from './own-process.ts';

export interface LeadTimings {
  /**
   * How long the lease lasts without being renewed. By then its holder has stopped leading, and
   * another runner takes the lease.
   */
  readonly leaseMs: number;
  /** Between two renewals. */
  readonly renewMs: number;
  /** Between two attempts to take the lease, and after a renewal that failed. */
  readonly tryMs: number;
}

export const LEAD_TIMINGS: LeadTimings = { leaseMs: 8_000, renewMs: 2_000, tryMs: 500 };

/** How much earlier the lead ends than the lease. Timers may be late, and clocks drift. */
export const MARGIN_MS = 500;
/** How long `release` waits for a silent server. */
const RELEASE_MS = 2_000;

/** How long Postgres may take over a statement about the lease. */
export const LEASE_STATEMENT_MS = 2_000;

/**
 * Creates the lease's own Postgres client, so that it waits for no other query. It gives up on a
 * silent server while there is still time to renew the lease over another connection. One
 * connection may be waiting for the row of a model whose condition is to be written.
 */
export const createLeaseDb = (url: string): Db =>
  createDb(url, { maxConnections: 2, connectTimeoutMs: 2_000, statementTimeoutMs: LEASE_STATEMENT_MS });

export interface LeadOptions {
  readonly db: Db;
  readonly candidate: Omit<Candidate, 'leaseMs'>;
  readonly timings: LeadTimings;
  readonly logger: Logger;
  /** Called with every runner that is found to have the lease. */
  readonly onStandby: (holder: string) => void;
}

/** Leadership: being the one runner that leads a pool. */
export interface Lead {
  /** Aborted when the lease is lost. Another runner may lead already. */
  readonly lost: AbortSignal;
  /**
   * Whether the lease is certainly still valid at this moment. A process that stood still may
   * continue before it notices that the lease has expired.
   */
  holds(): boolean;
  /**
   * Writes a condition before any other runner leads, or not at all. Rejects if it was not written.
   */
  writeCondition(change: ConditionChange): Promise<void>;
  /** Gives up the lease. Never rejects. */
  release(): Promise<void>;
}

/** Waits until this runner leads its pool. Null: aborted before that. */
export async function takeLead(options: LeadOptions, signal: AbortSignal): Promise<Lead | null> {
  const { db, timings, logger, onStandby } = options;
  const candidate: Candidate = { ...options.candidate, leaseMs: timings.leaseMs };
  const outage = createOutage(logger, 'the lease in Postgres could not be requested');
  while (!signal.aborted) {
    try {
      const held = await readLease(db, candidate.pool);
      const over = held !== null && isOver(held.process, candidate.process) ? held.epoch : null;
      const askedMs = performance.now();
      const epoch = await takeLease(db, candidate, over);
      outage.worked();
      if (epoch !== null) return new HeldLead(options, epoch, askedMs);
      if (held !== null && over === null) onStandby(held.holder);
    } catch (err) {
      outage.failed(err);
    }
    await pause(timings.tryMs, signal);
  }
  return null;
}

/** True if its holder has ended, or is this process, which took it but got no answer in time. */
const isOver = (holder: string | null, own: string | null): boolean =>
  hasEnded(holder) || (holder !== null && holder === own);

const TAKEN = 'another runner has taken the lease';
const EXPIRED = 'the lease was not renewed in time';

/** A lease that is renewed until it is released or lost. */
class HeldLead implements Lead {
  readonly #options: LeadOptions;
  readonly #epoch: bigint;
  readonly #lost = new AbortController();
  /** Aborted when it is lost or released. */
  readonly #over = new AbortController();
  readonly #renewed: Promise<void>;
  readonly #outage: Outage;
  #expiry: NodeJS.Timeout | undefined;
  #endsAtMs = 0;

  /** @param takenMs when the lease was asked for, by `performance.now`; it began then, or later */
  constructor(options: LeadOptions, epoch: bigint, takenMs: number) {
    this.#options = options;
    this.#outage = createOutage(options.logger, 'the lease could not be renewed');
    this.#epoch = epoch;
    this.#lastFrom(takenMs);
    this.#renewed = this.#renewUntilOver();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  holds(): boolean {
    if (performance.now() >= this.#endsAtMs) this.#lose(EXPIRED);
    return !this.#over.signal.aborted;
  }

  async writeCondition(change: ConditionChange): Promise<void> {
    const { db, candidate } = this.#options;
    if (this.#over.signal.aborted) throw new Error('this runner no longer leads');
    if (await writeConditionUnder(db, candidate.pool, this.#epoch, change)) return;
    this.#lose(TAKEN);
    throw new Error(TAKEN);
  }

  async release(): Promise<void> {
    const { db, candidate } = this.#options;
    this.#end();
    if (this.lost.aborted) return;
    // A renewal that is under way must not come after the end.
    const ended = this.#renewed.then(() => endLease(db, candidate.pool, this.#epoch)).catch(() => {});
    await within(ended, RELEASE_MS, undefined);
  }

  async #renewUntilOver(): Promise<void> {
    const { renewMs, tryMs } = this.#options.timings;
    for (let failed = false; ; ) {
      await pause(failed ? tryMs : renewMs, this.#over.signal);
      if (this.#over.signal.aborted) return;
      const sentMs = performance.now();
      const renewed = await this.#renew();
      if (this.#over.signal.aborted) return;
      if (renewed === false) return this.#lose(TAKEN);
      failed = renewed === null;
      if (!failed) this.#lastFrom(sentMs);
    }
  }

  /** False: another runner has taken it. Null: that is unknown. */
  async #renew(): Promise<boolean | null> {
    const { db, candidate, timings } = this.#options;
    try {
      const renewed = await renewLease(db, candidate.pool, this.#epoch, timings.leaseMs);
      this.#outage.worked();
      return renewed;
    } catch (err) {
      this.#outage.failed(err);
      return null;
    }
  }

  /** Makes the lead end shortly before the lease that was asked for at `sentMs`. */
  #lastFrom(sentMs: number): void {
    clearTimeout(this.#expiry);
    this.#endsAtMs = sentMs + this.#options.timings.leaseMs - MARGIN_MS;
    this.#expiry = setTimeout(() => this.#lose(EXPIRED), this.#endsAtMs - performance.now());
  }

  #lose(reason: string): void {
    if (this.#over.signal.aborted) return;
    this.#end();
    this.#options.logger.error({ reason }, 'this runner no longer leads its pool');
    this.#lost.abort();
  }

  #end(): void {
    clearTimeout(this.#expiry);
    this.#over.abort();
  }
}
