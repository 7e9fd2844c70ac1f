export interface Limits {
  readonly requestsPerMonth: number;
  readonly tokensPerMonth: number;
  readonly requestsPerMinute: number;
  readonly atOnce: number;
}

export interface KeyWish {
  readonly rpm?: number;
  readonly atOnce?: number;
  /** The last day (UTC) on which the key works. */
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
  /** The text inside the braces of its Redis keys. */
  readonly tag: string;
  /** The highest limits that were ever in force. Lowering a plan does not undo earlier use. */
  most: Limits;
  /** Requests that counted towards requests a minute before any load. */
  listings: number;
  readonly keys: Key[];
  /** The model ids by published name. */
  readonly models: Map<string, string>;
}
