/** What `.local/stack.json` holds, for people, tests and tools. */
export interface StackInfo {
  /** Base URL of the API, of the first gateway. */
  readonly gateway: string;
  readonly gateways: readonly string[];
  /** Null: there is no console in this checkout. */
  readonly console: string | null;
  readonly owner: { readonly email: string; readonly password: string } | null;
  /** Slug of the demo organization; this, the owner, the key and the models are null or empty without a demo. */
  readonly org: string | null;
  readonly apiKey: string | null;
  readonly models: readonly string[];
  readonly redis: string;
  readonly postgres: string;
  readonly services: readonly ServiceInfo[];
}

export interface ServiceInfo {
  readonly name: string;
  readonly pid: number;
  readonly health: string;
  readonly metrics: string;
}

/** What `.local/env.json` holds: the variables `ctl` works with. */
export type CtlEnv = Readonly<
  Record<'DATABASE_URL' | 'REDIS_URL' | 'LIMITER_ADDRESSES' | 'RUNNER_ADDRESS' | 'SECRET_KEY', string>
>;
