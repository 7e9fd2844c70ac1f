import type { Db } from '@tidegate/db';

/** What control needs of a limiter. Every call is idempotent and rejects when no limiter could be reached in time. */
export interface LimiterPort {
  /** Writes the limits in force of these organizations through, before it resolves. */
  refreshOrgs(orgIds: readonly string[]): Promise<void>;
  /** When it has resolved, no gateway admits the key any more. */
  revokeKey(key: { orgId: string; keyId: string; keyHash: Uint8Array }): Promise<void>;
  /** The live month ledger. */
  month(orgId: string): Promise<LiveMonth>;
}

export interface LiveMonth {
  /** YYYY-MM, UTC. */
  readonly month: string;
  /** Counted requests, open ones included. */
  readonly requests: number;
  readonly chargedTokens: number;
  /** Of open reservations. */
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

/** What control needs of the runner. Rejects when it could not be reached in time, or refused. */
export interface RunnerPort {
  /** Null: it is no longer published. */
  refresh(modelId: string): Promise<ConditionNow | null>;
  start(modelId: string): Promise<ConditionNow>;
  stop(modelId: string): Promise<ConditionNow>;
  /** Requests in flight of the organization's models by model id; models without any are not in it. */
  inFlight(orgId: string): Promise<ReadonlyMap<string, number>>;
}

export interface ControlDeps {
  readonly db: Db;
  readonly limiter: LimiterPort;
  readonly runner: RunnerPort;
  /** 32 bytes; seals upstream keys. */
  readonly secretKey: Uint8Array;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A Prisma client inside a transaction. */
export type Tx = Parameters<Parameters<Db['$transaction']>[0]>[0];
