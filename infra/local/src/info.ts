/** The content of `.local/stack.json`, for people, tests and tools. */
export interface StackInfo {
  /** The base URL of the first gateway's API. */
  readonly gateway: string;
  readonly gateways: readonly string[];
  /** Null: there is no console. */
  readonly console: string | null;
  readonly owner: { readonly email: string; readonly password: string } | null;
  /**
   * The slug of the demo organization. Without a demo, this, the owner, the key and the models are
   * null or empty. The owner is also null if the password was changed, the key if it was revoked.
   */
  readonly org: string | null;
  readonly apiKey: string | null;
  readonly models: readonly string[];
  /** Where the machine's Prometheus is, if the stack runs it. Else null. */
  readonly prometheus: string | null;
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

/** The content of `.local/env.json`: the variables for `ctl`. */
export type CtlEnv = Readonly<
  Record<
    | 'DATABASE_URL'
    | 'REDIS_URL'
    | 'LIMITER_ADDRESSES'
    | 'RUNNER_ADDRESS'
    | 'SECRET_KEY'
    | 'SERVICE_TOKEN'
    | 'OIDC_ONLY',
    string
  >
>;
