/*
 * The definition of an organization's month ledger. Two sums never exceed the plan: the counted
 * requests, and the charged plus reserved tokens.
 */

export interface MonthLedger {
  /** Counted requests, open ones included. */
  readonly requests: number;
  readonly chargedTokens: number;
  /** Tokens of open reservations. */
  readonly reservedTokens: number;
}

export interface MonthCaps {
  readonly requests: number;
  readonly tokens: number;
}

export const EMPTY_MONTH: MonthLedger = { requests: 0, chargedTokens: 0, reservedTokens: 0 };

/** Null: one request of this context length fits. Otherwise, the cap that it would exceed. */
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

/** Ends a reservation: releases the reserved tokens and adds the charge. */
export const settle = (ledger: MonthLedger, reservedTokens: number, chargedTokens: number): MonthLedger => ({
  requests: ledger.requests,
  chargedTokens: ledger.chargedTokens + chargedTokens,
  reservedTokens: ledger.reservedTokens - reservedTokens,
});

/** Takes a reservation back as if it had never been made. */
export const withdraw = (ledger: MonthLedger, reservedTokens: number): MonthLedger => ({
  requests: ledger.requests - 1,
  chargedTokens: ledger.chargedTokens,
  reservedTokens: ledger.reservedTokens - reservedTokens,
});
