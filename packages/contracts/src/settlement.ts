/** How a counted request ended: what the limiter puts into its outbox and metering writes, once, into Postgres. */
export interface Settlement {
  /** The admission's id: 24 base62 characters, the idempotency key of all that follows. */
  readonly reservationId: string;
  /** Entry of the organization's outbox, dropped once the settlement is committed. */
  readonly outboxId: string;
  readonly orgId: string;
  readonly keyId: string;
  readonly modelId: string;
  /** Limiter time (Redis) of the reservation, Unix milliseconds. Day and month of the request derive from it. */
  readonly admittedAtMs: number;
  /** A complete answer was delivered; otherwise the request counts as an error. */
  readonly answered: boolean;
  /** Why it is an error; null when answered. */
  readonly errorCode: string | null;
  readonly streamed: boolean;
  readonly reservedTokens: number;
  /** Null: no valid usage, the full reservation stays charged. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly chargedTokens: number;
  /** Null: unknown, the gateway died. */
  readonly durationMs: number | null;
}

/** The BullMQ queue between limiter and metering. */
export const SETTLEMENT_QUEUE = 'settlements';

/** One job of the queue. */
export interface SettlementBatch {
  /** 1 to 1,000. */
  readonly settlements: readonly Settlement[];
}

/**
 * The queue's key prefix. Its hash tag keeps all of the queue in one slot, whatever the organizations' own tags.
 * @param redisPrefix the prefix of all keys of this installation, `tg:` by default
 */
export const settlementQueuePrefix = (redisPrefix: string): string => `{${redisPrefix}queue}`;

/** Most settlements in one job. */
export const SETTLEMENT_BATCH_MAX = 1_000;

/** Name of the jobs, and of their backoff: metering computes the delay (`settlementRetryDelayMs`). */
export const SETTLEMENT_JOB = 'batch';
export const SETTLEMENT_BACKOFF = 'settlement';

/**
 * Options of every job: about an hour of retries, then the failed set, where `ctl queue` finds it. A failed job is kept:
 * it is a dead letter, and while it is there no other job gets its id.
 */
export const SETTLEMENT_JOB_OPTIONS = {
  attempts: 66,
  backoff: { type: SETTLEMENT_BACKOFF },
  removeOnComplete: true,
  removeOnFail: false,
} as const;

/** Wait before the next attempt: 1 s doubling to 60 s. @param attemptsMade at least 1 */
export const settlementRetryDelayMs = (attemptsMade: number): number =>
  Math.min(60_000, 1_000 * 2 ** Math.min(attemptsMade - 1, 6));

/** All waits of a job between its attempts, until it is a dead letter: about an hour. */
export const SETTLEMENT_RETRIES_MS: number = Array.from(
  { length: SETTLEMENT_JOB_OPTIONS.attempts - 1 },
  (_, i) => settlementRetryDelayMs(i + 1),
).reduce((sum, delayMs) => sum + delayMs, 0);
