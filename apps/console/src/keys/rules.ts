/** What a key may be set to, and how many there may be. */
export interface KeyRules {
  readonly name: number;
  readonly models: number;
  readonly requestsPerMinute: { readonly min: number; readonly max: number; readonly default: number };
  readonly requestsAtOnce: { readonly min: number; readonly max: number; readonly default: number };
  /** Keys that are not revoked. */
  readonly mostKeys: number;
  readonly perOrg: { readonly total: number };
}
