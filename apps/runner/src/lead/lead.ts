import type { Db } from '@tidegate/db';
import type { Logger } from '@tidegate/runtime';
import { pause } from '../drivers/pause.ts';
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
   * How long the lease lasts without being renewed. By then its holder stops leading, and another
   * runner takes the lease.
   */
  readonly leaseMs: number;
  /** Between two renewals. */
  readonly renewMs: number;
  /** Between two attempts to take the lease, and after a renewal that failed. */
  readonly tryMs: number;
}

export const LEAD_TIMINGS: LeadTimings = { leaseMs: 8_000, renewMs: 2_000, tryMs: 500 };

/** How much earlier than the lease the lead ends. Timers may be late, and clocks drift. */
const MARGIN_MS = 500;
/** How long `release` waits for a silent server. */
const RELEASE_MS = 2_000;

export interface LeadOptions {
  readonly db: Db;
  readonly candidate: Omit<Candidate, 'leaseMs'>;
  readonly timings: LeadTimings;
  readonly logger: Logger;
  /** Called with every runner that is found to have the lease. */
  readonly onStandby: (holder: string) => void;
}

/** Leadership: being the one active runner of a pool. */
export interface Lead {
  /** Aborted when the lease is lost. Another runner may be active already. */
  readonly lost: AbortSignal;
  /**
   * Writes a condition before any other runner becomes active, or not at all. Rejects if it was not
   * written.
   */
  writeCondition(change: ConditionChange): Promise<void>;
  /** Gives up the lease. Never rejects. */
  release(): Promise<void>;
}

/** Waits until this runner is the active one of its pool. Null: aborted before that. */
export async function takeLead(options: LeadOptions, signal: AbortSignal): Promise<Lead | null> {
  const { db, timings, logger, onStandby } = options;
  const candidate: Candidate = { ...options.candidate, leaseMs: timings.leaseMs };
  while (!signal.aborted) {
    try {
      const held = await readLease(db, candidate.pool);
      const over = held !== null && hasEnded(held.process) ? held.epoch : null;
      const askedMs = performance.now();
      const epoch = await takeLease(db, candidate, over);
      if (epoch !== null) return keepLead(options, epoch, askedMs);
      if (held !== null) onStandby(held.holder);
    } catch (err) {
      logger.warn({ err }, 'the lease in Postgres could not be requested: trying again');
    }
    await pause(timings.tryMs, signal);
  }
  return null;
}

/**
 * @param takenMs when the lease was asked for, by `performance.now`; it lasts at least from then on
 */
function keepLead({ db, candidate, timings, logger }: LeadOptions, epoch: bigint, takenMs: number): Lead {
  const { leaseMs, renewMs, tryMs } = timings;
  const { pool } = candidate;
  const lost = new AbortController();
  const over = new AbortController();
  let expiry: NodeJS.Timeout | undefined;
  const end = () => {
    clearTimeout(expiry);
    over.abort();
  };
  const lose = (reason: string) => {
    if (over.signal.aborted) return;
    end();
    logger.error({ reason }, 'the lead is lost');
    lost.abort();
  };
  const heldSince = (sentMs: number) => {
    clearTimeout(expiry);
    const leftMs = sentMs + leaseMs - MARGIN_MS - performance.now();
    expiry = setTimeout(() => lose('Postgres did not renew the lease in time'), leftMs);
  };
  const TAKEN = 'another runner has taken the lease';
  const keep = async () => {
    heldSince(takenMs);
    for (let failed = false; ; ) {
      await pause(failed ? tryMs : renewMs, over.signal);
      if (over.signal.aborted) return;
      const sentMs = performance.now();
      const renewed = await renewLease(db, pool, epoch, leaseMs).catch((err) => {
        logger.warn({ err }, 'the lease could not be renewed: trying again');
        return null;
      });
      if (over.signal.aborted) return;
      if (renewed === false) return lose(TAKEN);
      failed = renewed === null;
      if (!failed) heldSince(sentMs);
    }
  };
  const kept = keep();
  return {
    lost: lost.signal,
    writeCondition: async (change) => {
      if (over.signal.aborted) throw new Error('the lead is over');
      if (await writeConditionUnder(db, pool, epoch, change)) return;
      lose(TAKEN);
      throw new Error(TAKEN);
    },
    release: async () => {
      end();
      if (lost.signal.aborted) return;
      const silent = new AbortController();
      // A renewal that is under way must not come after the end.
      const ended = kept.then(() => endLease(db, pool, epoch)).catch(() => {});
      await Promise.race([ended, pause(RELEASE_MS, silent.signal)]);
      silent.abort();
    },
  };
}
