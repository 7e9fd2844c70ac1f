import { isRefusal, type Refusal } from '@tidegate/contracts';
import type { AnswerUsage } from './upstream/usage.ts';

/**
 * The client hung up, the lease was lost, the organization was deleted, or the gateway is shutting
 * down.
 */
export type AbortReason = 'client_closed' | 'lease_lost' | 'org_deleted' | 'shutdown';

/** An early end that is not a refusal. */
export interface Aborted {
  readonly kind: 'aborted';
  readonly reason: AbortReason;
}

/*
 * How every part of the gateway refuses. A function returns what its caller needs, or else the
 * refusal: `CatalogModel | Refusal`. Where the request may also be aborted, it returns `EarlyEnd`
 * instead of `Refusal`. A check without a result returns PASSED. The caller checks with `isRefusal`
 * or `endsEarly` first. Null never stands for a refusal, and none is thrown.
 */

/** Why a request goes no further. */
export type EarlyEnd = Refusal | Aborted;

/** How a request ends. */
export type Ending =
  | EarlyEnd
  /** A complete answer that was not streamed. `json` is all of it. */
  | { readonly kind: 'whole'; readonly json: string; readonly usage: AnswerUsage | null }
  /** A complete stream, of which only the tail is still unsent. */
  | { readonly kind: 'streamed'; readonly tail: string; readonly usage: AnswerUsage | null }
  /** A stream that began and cannot be completed. */
  | { readonly kind: 'broken'; readonly errorCode: 'upstream_error' | 'stream_limit' };

/** Why there is no complete answer. Null: there is one. */
export function errorCodeOf(ending: Ending): string | null {
  switch (ending.kind) {
    case 'whole':
    case 'streamed':
      return null;
    case 'refused':
      return ending.code;
    case 'broken':
      return ending.errorCode;
    case 'aborted':
      return ending.reason;
  }
}

export const isAborted = (value: unknown): value is Aborted =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'aborted';

export const endsEarly = (value: unknown): value is EarlyEnd => isRefusal(value) || isAborted(value);
