import type { Admit, Settle } from '@tidegate/rpc';
import type { Linked } from '../linked-list.ts';
import type { LimiterCall } from './link.ts';

/** Identifies an admission to the limiter, and the large body of the same request. */
export interface AdmissionRef {
  readonly orgId: string;
  readonly instanceId: string;
  readonly admissionId: string;
  /** Null: nothing was granted. Not sent. */
  grant: Grant | null;
}

/** An admission as it was requested. */
export type AdmitCall = Required<Admit>;
export type AdmitRequest = Omit<AdmitCall, keyof AdmissionRef>;

/** What the limiter granted for an admission. */
export interface Grant extends Linked<Grant> {
  readonly admit: AdmitCall;
  readonly admittedAtMs: number;
  /** 0 if not reserved. */
  reservedAtMs: number;
  /** The call that ended the grant. It is sent again after the grant is restored. */
  ended: LimiterCall | null;
  /** When the limiter acknowledged the settlement, by monotonic time. 0: not yet. */
  acknowledgedAtMs: number;
}

export type SettleCall = Required<Settle>;
export type SettleRequest = Omit<SettleCall, keyof AdmissionRef>;

// Each request makes both calls. Their members are named one by one, because on Node 20 an object
// that begins with the copy of another costs microseconds.

export const admitCallOf = (ref: AdmissionRef, request: AdmitRequest): AdmitCall => ({
  orgId: ref.orgId,
  instanceId: ref.instanceId,
  admissionId: ref.admissionId,
  keyId: request.keyId,
  modelId: request.modelId,
  contextTokens: request.contextTokens,
  hasImages: request.hasImages,
  streamed: request.streamed,
  reserve: request.reserve,
});

export const settleCallOf = (ref: AdmissionRef, request: SettleRequest): SettleCall => ({
  orgId: ref.orgId,
  instanceId: ref.instanceId,
  admissionId: ref.admissionId,
  answered: request.answered,
  usageValid: request.usageValid,
  promptTokens: request.promptTokens,
  completionTokens: request.completionTokens,
  durationMs: request.durationMs,
  errorCode: request.errorCode,
  firstChunkMs: request.firstChunkMs,
});
