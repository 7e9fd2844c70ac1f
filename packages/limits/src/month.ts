import { usageIsValid } from './usage.ts';

/*
 * The month ledger of an organization, as arithmetic. Two sums never exceed the plan: counted requests, and charged plus
 * openly reserved tokens.
 */

export interface MonthLedger {
  /** Counted requests, open ones included. */
  readonly requests: number;
  readonly chargedTokens: number;
  /** Of open reservations. */
  readonly reservedTokens: number;
}

export interface MonthCaps {
  readonly requests: number;
  readonly tokens: number;
}

export const EMPTY_MONTH: MonthLedger = { requests: 0, chargedTokens: 0, reservedTokens: 0 };

/** Null: one request with this context window fits. Otherwise the cap that refuses it. */
export function canReserve(
  ledger: MonthLedger,
  caps: MonthCaps,
  contextTokens: number,
): null | 'requests' | 'tokens' {
  if (ledger.requests + 1 > caps.requests) return 'requests';
  if (ledger.chargedTokens + ledger.reservedTokens + contextTokens > caps.tokens) return 'tokens';
  return null;
}

export const reserve = (ledger: MonthLedger, contextTokens: number): MonthLedger => ({
  requests: ledger.requests + 1,
  chargedTokens: ledger.chargedTokens,
  reservedTokens: ledger.reservedTokens + contextTokens,
});

/** What a request that ended is charged: its tokens after a complete answer with valid usage, else the full reservation. */
export function charge(
  reservedTokens: number,
  end: {
    readonly answered: boolean;
    readonly usage: { readonly prompt: number; readonly completion: number } | null;
  },
): number {
  if (!end.answered || !end.usage) return reservedTokens;
  const { prompt, completion } = end.usage;
  const total = prompt + completion;
  return usageIsValid({ prompt, completion, total, reservedTokens }) ? total : reservedTokens;
}

/** Ends a reservation: what was reserved is released, what is charged stays. */
export const settle = (ledger: MonthLedger, reservedTokens: number, chargedTokens: number): MonthLedger => ({
  requests: ledger.requests,
  chargedTokens: ledger.chargedTokens + chargedTokens,
  reservedTokens: ledger.reservedTokens - reservedTokens,
});

/** Takes a reservation back as if it had never been. */
export const withdraw = (ledger: MonthLedger, reservedTokens: number): MonthLedger => ({
  requests: ledger.requests - 1,
  chargedTokens: ledger.chargedTokens,
  reservedTokens: ledger.reservedTokens - reservedTokens,
});
