import { isRefusal, type Refusal } from '@tidegate/contracts';
import type { Usage } from './upstream/usage.ts';

/**
 * The client hung up, the lease was lost, the organization was deleted, or the gateway is shutting
 * down.
 */
export type AbortReason = 'client_closed' | 'lease_lost' | 'org_deleted' | 'shutdown';

/** The end of a request that nobody refused. */
export interface Aborted {
  readonly kind: 'aborted';
  readonly reason: AbortReason;
}

/** Why a request goes no further. Each step returns what the next one needs, or a stop. */
export type Stop = Refusal | Aborted;

/** How a request ends. */
export type Ending =
  | Stop
  /** A complete answer that was not streamed. `json` is all of it. */
  | { readonly kind: 'whole'; readonly json: string; readonly usage: Usage | null }
  /** A complete stream, of which only the tail is still unsent. */
  | { readonly kind: 'streamed'; readonly tail: string; readonly usage: Usage | null }
  /** A stream that began and cannot be completed. */
  | { readonly kind: 'broken'; readonly errorCode: 'upstream_error' | 'stream_limit' };

export const isAborted = (value: unknown): value is Aborted =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'aborted';

export const isStop = (value: unknown): value is Stop => isRefusal(value) || isAborted(value);
