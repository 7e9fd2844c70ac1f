/**
 * How a counted request ended. The limiter puts it into its outbox, and metering writes it to
 * Postgres exactly once.
 */
export interface Settlement {
  /** The admission's id: 24 base62 characters. It makes writing a settlement idempotent. */
  readonly reservationId: string;
  /** The entry in the organization's outbox. It is dropped once the settlement is committed. */
  readonly outboxId: string;
  readonly orgId: string;
  readonly keyId: string;
  readonly modelId: string;
  /**
   * In Unix milliseconds by Redis' clock. The request's day and month derive from it. The admission
   * may be earlier, if the model had to wake first.
   */
  readonly reservedAtMs: number;
  /** Whether a complete answer was delivered. Otherwise the request counts as an error. */
  readonly answered: boolean;
  /** Null: answered. */
  readonly errorCode: string | null;
  readonly streamed: boolean;
  readonly reservedTokens: number;
  /** Null: without valid usage, the full reservation stays charged. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly chargedTokens: number;
  /** Null: unknown, because the gateway died. */
  readonly durationMs: number | null;
  /** From the reservation to the first chunk. Null: no stream had begun, or it is unknown. */
  readonly firstChunkMs: number | null;
}

/** Names the outbox entry of a settlement. */
export type SettlementRef = Pick<Settlement, 'orgId' | 'outboxId'>;

/** The BullMQ queue between the limiter and metering. */
export const SETTLEMENT_QUEUE = 'settlements';

/**
 * A settlement as jobs hold it. Their name for the time of the reservation is not quite right, but
 * jobs are stored, and during an upgrade services of two releases read them.
 */
export interface QueuedSettlement extends Omit<Settlement, 'reservedAtMs'> {
  readonly admittedAtMs: number;
}

// Fields one by one: on Node 20, an object that begins with the copy of another is slow.
export const toQueued = (settlement: Settlement): QueuedSettlement => ({
  reservationId: settlement.reservationId,
  outboxId: settlement.outboxId,
  orgId: settlement.orgId,
  keyId: settlement.keyId,
  modelId: settlement.modelId,
  admittedAtMs: settlement.reservedAtMs,
  answered: settlement.answered,
  errorCode: settlement.errorCode,
  streamed: settlement.streamed,
  reservedTokens: settlement.reservedTokens,
  promptTokens: settlement.promptTokens,
  completionTokens: settlement.completionTokens,
  chargedTokens: settlement.chargedTokens,
  durationMs: settlement.durationMs,
  firstChunkMs: settlement.firstChunkMs,
});

export const fromQueued = (queued: QueuedSettlement): Settlement => ({
  reservationId: queued.reservationId,
  outboxId: queued.outboxId,
  orgId: queued.orgId,
  keyId: queued.keyId,
  modelId: queued.modelId,
  reservedAtMs: queued.admittedAtMs,
  answered: queued.answered,
  errorCode: queued.errorCode,
  streamed: queued.streamed,
  reservedTokens: queued.reservedTokens,
  promptTokens: queued.promptTokens,
  completionTokens: queued.completionTokens,
  chargedTokens: queued.chargedTokens,
  durationMs: queued.durationMs,
  firstChunkMs: queued.firstChunkMs,
});

/** One job of the queue. */
export interface SettlementBatch {
  /** 1 to 1,000. */
  readonly settlements: readonly QueuedSettlement[];
  /** The `traceparent` of each settlement whose trace is sampled, by reservation id. */
  readonly traces?: Readonly<Record<string, string>> | undefined;
}

/**
 * The queue's key prefix. Its hash tag keeps the whole queue in one slot of a cluster.
 * @param redisPrefix the prefix of all of this installation's keys, `tg:` by default
 */
export const settlementQueuePrefix = (redisPrefix: string): string => `{${redisPrefix}queue}`;

/** The most settlements in one job. */
export const SETTLEMENT_BATCH_MAX = 1_000;

/**
 * The names of the jobs and of their backoff. Metering computes the delay
 * (`settlementRetryDelayMs`).
 */
export const SETTLEMENT_JOB = 'batch';
export const SETTLEMENT_BACKOFF = 'settlement';

/**
 * Every job is retried for about an hour and then joins the failed set, where `ctl queue` finds it.
 * It stays there as a dead letter, until there are many newer ones: the outbox has its settlements
 * anyway. Meanwhile no other job can have its id. A job keeps only the reason for its last failure.
 * The stacks of all failures took 80 KB of Redis per job.
 */
export const SETTLEMENT_JOB_OPTIONS = {
  attempts: 66,
  backoff: { type: SETTLEMENT_BACKOFF },
  removeOnComplete: true,
  removeOnFail: { count: 500 },
  stackTraceLimit: 0,
} as const;

/** The wait before the next attempt: 1 s, doubling up to 60 s. @param attemptsMade at least 1 */
export const settlementRetryDelayMs = (attemptsMade: number): number =>
  Math.min(60_000, 1_000 * 2 ** Math.min(attemptsMade - 1, 6));

/** How long a job is retried in all before it becomes a dead letter: about an hour. */
export const SETTLEMENT_RETRIES_MS: number = Array.from(
  { length: SETTLEMENT_JOB_OPTIONS.attempts - 1 },
  (_, i) => settlementRetryDelayMs(i + 1),
).reduce((sum, delayMs) => sum + delayMs, 0);
