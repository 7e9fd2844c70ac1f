import type { Caller } from '../auth/authenticate.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Holdings } from './holdings.ts';

/** A completion in progress: its exchange, its caller, and what it holds. */
export interface Completion {
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly held: Holdings;
}
