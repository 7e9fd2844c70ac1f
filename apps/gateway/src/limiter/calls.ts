import type { Admit, Settle } from '@tidegate/rpc';
import type { Linked } from '../linked-list.ts';
import type { LimiterCall } from './link.ts';

/** Identifies an admission to the limiter, and the large body of the same request. */
export interface AdmissionHandle {
  readonly orgId: string;
  readonly instanceId: string;
  readonly admissionId: string;
  /** Null: nothing was granted. Not sent to the limiter. */
  grant: Grant | null;
}

/** An admission as it was requested. */
export type AdmitCall = Required<Admit>;
export type AdmitRequest = Omit<AdmitCall, keyof AdmissionHandle>;

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
export type SettleRequest = Omit<SettleCall, keyof AdmissionHandle>;

// Each request makes both calls. Their members are named one by one, because on Node 20 an object
// that begins with a spread of another one costs microseconds.

export const admitCallOf = (handle: AdmissionHandle, request: AdmitRequest): AdmitCall => ({
  orgId: handle.orgId,
  instanceId: handle.instanceId,
  admissionId: handle.admissionId,
  keyId: request.keyId,
  modelId: request.modelId,
  contextTokens: request.contextTokens,
  hasImages: request.hasImages,
  streamed: request.streamed,
  reserve: request.reserve,
});

export const settleCallOf = (handle: AdmissionHandle, request: SettleRequest): SettleCall => ({
  orgId: handle.orgId,
  instanceId: handle.instanceId,
  admissionId: handle.admissionId,
  answered: request.answered,
  usageValid: request.usageValid,
  promptTokens: request.promptTokens,
  completionTokens: request.completionTokens,
  durationMs: request.durationMs,
  errorCode: request.errorCode,
  firstChunkMs: request.firstChunkMs,
});
