export interface Limits {
  readonly requestsMonth: number;
  readonly tokensMonth: number;
  readonly requestsMinute: number;
  readonly atOnce: number;
}

export interface KeyWish {
  readonly rpm?: number;
  readonly atOnce?: number;
  /** Last day (UTC) on which it works. */
  readonly expiresOn?: string;
}

export interface OrgWish extends Partial<Limits> {
  readonly keys: readonly KeyWish[];
  readonly models?: readonly string[];
}

export interface Key {
  readonly id: string;
  readonly value: string;
  readonly rpm: number;
  readonly atOnce: number;
  readonly org: Org;
}

export interface Org {
  readonly id: string;
  readonly slug: string;
  /** Inside the braces of its Redis keys. */
  readonly tag: string;
  /** The highest that were ever in force: a lowered plan does not undo what was used before. */
  most: Limits;
  /** Requests a minute it was counted before anybody loaded it. */
  listings: number;
  readonly keys: Key[];
  /** Ids by published name. */
  readonly models: Map<string, string>;
}
