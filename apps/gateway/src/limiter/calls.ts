import type { Admit, Settle } from '@tidegate/rpc';

/** Identifies an admission to the limiter, and the large body of the same request. */
export interface AdmissionRef {
  readonly orgId: string;
  readonly instanceId: string;
  readonly admissionId: string;
}

export type SettleRequest = Omit<Settle, keyof AdmissionRef>;

/** An admission as it was requested. */
export type AdmitCall = Required<Admit>;
