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

export interface End {
  readonly answered: boolean;
  readonly usage: { readonly prompt: number; readonly completion: number } | null;
}

/** The tokens by which a request that ended is charged: those of a complete answer with valid usage, else null. */
export function countedUsage(reservedTokens: number, { answered, usage }: End): End['usage'] {
  if (!answered || !usage) return null;
  const { prompt, completion } = usage;
  return usageIsValid({ prompt, completion, total: prompt + completion, reservedTokens }) ? usage : null;
}

/** What a request that ended is charged: the tokens that count, else the full reservation. */
export function charge(reservedTokens: number, end: End): number {
  const counted = countedUsage(reservedTokens, end);
  return counted ? counted.prompt + counted.completion : reservedTokens;
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
