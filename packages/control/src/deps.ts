import type { Condition } from '@tidegate/contracts';
import type { KubernetesSettings } from '@tidegate/contracts/driver-settings';
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
   * For an organization that Postgres no longer has. Resolves when no gateway admits its keys and
   * its requests in flight are ending.
   */
  forgetOrg(orgId: string): Promise<void>;
  /** The live month ledger. */
  month(orgId: string): Promise<LiveMonth>;
  /**
   * Tells where a counted request is that metering has not written yet: in progress, or ended and
   * on its way. Null: neither.
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

export interface ConditionNow {
  readonly condition: Condition;
  /** Why it failed, or does not start yet; empty otherwise. */
  readonly reason: string;
}

export interface ServerToInspect {
  /** Ends in `/v1`. */
  readonly baseUrl: string;
  /** The model's name at the server. Empty: not known yet. */
  readonly upstreamModel: string;
  /** True: no name at the server was given, so this is the name to publish. */
  readonly upstreamModelAssumed: boolean;
  /** The bearer token. Empty: none. */
  readonly upstreamKey: string;
  /** The id of the published model whose upstream key is sent instead. Only the runner opens it. */
  readonly upstreamKeyOf?: string;
  /** Probed before the models are listed. Absent: nothing is. */
  readonly healthPath?: string;
  /** The organization on whose behalf. */
  readonly orgId: string;
}

export interface Inspection {
  /** Why calls cannot work. Empty: no problem was found. */
  readonly problem: string;
  /** The product's name. Empty: the server does not say. */
  readonly server: string;
  /** Empty: the server does not say. */
  readonly version: string;
  /** Its chat models. A context of 0: the server does not say. */
  readonly models: readonly {
    readonly name: string;
    readonly contextTokens: number;
    readonly vision: boolean;
  }[];
}

/** A Kubernetes workload, and the Service whose endpoints answer for it. */
export type ServedWorkload = Pick<KubernetesSettings, 'namespace' | 'kind' | 'name' | 'service'>;

export interface WorkloadCheck {
  /** Why it cannot be a model now. Empty: it can. */
  readonly problem: string;
  /**
   * True: there is no such workload, or the runner is not allowed to run it. Otherwise the problem
   * may pass.
   */
  readonly impossible: boolean;
}

/**
 * What control needs from the runners. A call goes to the runner that leads the model's pool. Each
 * call rejects when that runner refuses or does not answer in time.
 */
export interface RunnerPort {
  /** The pools whose runners can be called. */
  readonly pools: readonly string[];
  /**
   * Null: the model is no longer published.
   *
   * @param pool null: it may belong to any pool, so the runners of all pools are told
   */
  refresh(modelId: string, pool: string | null): Promise<ConditionNow | null>;
  start(modelId: string, pool: string): Promise<ConditionNow>;
  stop(modelId: string, pool: string): Promise<ConditionNow>;
  /**
   * Asks a server what it serves, and whether calls to it can work. Another pool's runner may reach
   * other servers.
   */
  inspect(server: ServerToInspect, pool: string): Promise<Inspection>;
  /** Checks whether the runner can run this workload as a model. */
  checkWorkload(workload: ServedWorkload, pool: string): Promise<WorkloadCheck>;
  /**
   * Activity by pool. Pools whose runner did not answer are left out. Rejects when none answered.
   */
  activity(orgId: string): Promise<ReadonlyMap<string, PoolActivity>>;
  /** Null: the pool has no capacity, so nothing is shared. */
  room(pool: string): Promise<PoolRoom | null>;
}

/** How much of a pool's capacity the models of all organizations hold. */
export interface PoolRoom {
  /** May exceed a capacity that was lowered. */
  readonly used: number;
  /** Models that wait until there is room. */
  readonly waiting: number;
}

/** What an organization's models of one pool are doing, by model id. */
export interface PoolActivity {
  /** Models without requests in flight are left out. */
  readonly inFlight: ReadonlyMap<string, number>;
  /** Only of running models that have several. */
  readonly replicas: ReadonlyMap<string, ReplicaCount & { readonly down: readonly DownReplica[] }>;
}

export interface ReplicaCount {
  /** Those that can be called. */
  readonly up: number;
  readonly total: number;
}

/** A replica that cannot be called. Its URL's path may hold a secret. */
export interface DownReplica {
  readonly baseUrl: string;
  readonly reason: string;
}

export interface ControlDeps {
  readonly db: Db;
  readonly limiter: LimiterPort;
  readonly runner: RunnerPort;
  /** Seals upstream keys. 32 bytes. */
  readonly secretKey: Uint8Array;
  /** Opens what was sealed before the secret key was replaced. For `resealSecrets`. */
  readonly previousSecretKey?: Uint8Array | undefined;
  /** Whether a password lets users in. If not, an account may still have one. Default: true. */
  readonly passwords?: boolean | undefined;
  /** Default: better-auth's hashing, because the console verifies passwords with it. */
  readonly hashPassword?: ((password: string) => Promise<string>) | undefined;
  /** How long a session lasts without use. A page key lasts no longer. Default: no limit. */
  readonly sessionIdleMs?: number | undefined;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A Prisma client inside a transaction. */
export type Tx = Parameters<Parameters<Db['$transaction']>[0]>[0];
