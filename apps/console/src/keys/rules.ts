/** The rules for a key's settings, and how many keys an organization may have. */
export interface KeyRules {
  readonly name: number;
  readonly models: number;
  readonly requestsPerMinute: { readonly min: number; readonly max: number; readonly default: number };
  readonly requestsAtOnce: { readonly min: number; readonly max: number; readonly default: number };
  /** The most keys that are not revoked. */
  readonly mostKeys: number;
  readonly perOrg: { readonly total: number };
}
