import { usageIsValid } from './usage.ts';

/*
 * The arithmetic of an organization's month ledger. Two sums never exceed the plan: the counted
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

/** Null: one request with this context window fits. Otherwise, the cap that it would exceed. */
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

/** The usage that sets a request's charge. Null: no complete answer, or no valid usage. */
export function countedUsage(reservedTokens: number, { answered, usage }: End): End['usage'] {
  if (!answered || !usage) return null;
  const { prompt, completion } = usage;
  return usageIsValid({ prompt, completion, total: prompt + completion, reservedTokens }) ? usage : null;
}

/** The charge of a request that ended: the tokens used, or else the full reservation. */
export function charge(reservedTokens: number, end: End): number {
  const counted = countedUsage(reservedTokens, end);
  return counted ? counted.prompt + counted.completion : reservedTokens;
}

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
