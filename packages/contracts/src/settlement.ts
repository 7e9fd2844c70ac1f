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
  /** 1 to 100. */
  readonly settlements: readonly Settlement[];
}
