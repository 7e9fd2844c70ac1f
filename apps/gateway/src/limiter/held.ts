import type { Admit, Settle } from '@tidegate/rpc';

/** What a limiter holds for one request: an admission, a large body or both. */
export interface Held {
  readonly orgId: string;
  readonly instanceId: string;
  readonly admissionId: string;
}

export type Settlement = Omit<Settle, keyof Held>;

/** An admission as it was asked for. */
export type Asked = Required<Admit>;
