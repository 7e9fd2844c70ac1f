import type { Refusal } from '@tidegate/contracts';
import type { Usage } from './usage.ts';

/** Why a request ends that nobody refuses: its client hung up, its lease was lost, or the gateway is being stopped. */
export type AbortReason = 'client_closed' | 'lease_lost' | 'shutdown';

/** How one call to a replica ended. */
export type CallOutcome =
  /** Nothing was answered. `connected`: the connection was there, and then it was not. */
  | { readonly kind: 'unreached'; readonly connected: boolean }
  /** Nothing was relayed: the request is answered with this. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** A whole answer, complete: `json` is all of it. */
  | { readonly kind: 'whole'; readonly json: string; readonly usage: Usage | null }
  /** A stream, complete but for its tail. */
  | { readonly kind: 'streamed'; readonly tail: string; readonly usage: Usage | null }
  /** A stream that began and cannot be completed. */
  | { readonly kind: 'broken'; readonly errorCode: 'upstream_error' | 'stream_limit' }
  | { readonly kind: 'aborted'; readonly reason: AbortReason };
