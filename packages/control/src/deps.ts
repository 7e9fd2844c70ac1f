import type { Db } from '@tidegate/db';

/**
 * What control needs from a limiter. Each call is idempotent. It rejects when no limiter answers in
 * time.
 */
export interface LimiterPort {
  /** Resolves when the current limits of these organizations are in force. */
  refreshOrgs(orgIds: readonly string[]): Promise<void>;
  /** Resolves when no gateway admits the key any more. */
  revokeKey(key: { orgId: string; keyId: string; keyHash: Uint8Array }): Promise<void>;
  /**
   * For an organization that Postgres no longer has. Resolves when no gateway admits a key of it
   * and its requests in flight are ending.
   */
  forgetOrg(orgId: string): Promise<void>;
  /** The live month ledger. */
  month(orgId: string): Promise<LiveMonth>;
  /**
   * Where a counted request is that metering has not written: in progress, or ended and on its way.
   * Null: neither.
   */
  findRequest(orgId: string, admissionId: string): Promise<'open' | 'queued' | null>;
}

export interface LiveMonth {
  /** YYYY-MM, UTC. */
  readonly month: string;
  /** Counted requests, open ones included. */
  readonly requests: number;
  readonly chargedTokens: number;
  /** Tokens of open reservations. */
  readonly reservedTokens: number;
  /** Unix milliseconds. */
  readonly resetsAtMs: number;
  readonly inFlight: number;
}

export type Condition = 'stopped' | 'starting' | 'running' | 'asleep' | 'failed';

export interface ConditionNow {
  readonly condition: Condition;
  /** Why it failed; empty otherwise. */
  readonly reason: string;
}

/**
 * What control needs from the runner. Each call rejects when the runner refuses or does not answer
 * in time.
 */
export interface RunnerPort {
  /** Null: the model is no longer published. */
  refresh(modelId: string): Promise<ConditionNow | null>;
  start(modelId: string): Promise<ConditionNow>;
  stop(modelId: string): Promise<ConditionNow>;
  /** The organization's requests in flight by model id. Models without any are left out. */
  inFlight(orgId: string): Promise<ReadonlyMap<string, number>>;
}

export interface ControlDeps {
  readonly db: Db;
  readonly limiter: LimiterPort;
  readonly runner: RunnerPort;
  /** Seals upstream keys. 32 bytes. */
  readonly secretKey: Uint8Array;
  /** Opens what was sealed before the secret key was replaced. For `resealSecrets`. */
  readonly previousSecretKey?: Uint8Array | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A Prisma client inside a transaction. */
export type Tx = Parameters<Parameters<Db['$transaction']>[0]>[0];
