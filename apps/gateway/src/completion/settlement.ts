import { type Ending, errorCodeOf } from '../ending.ts';
import type { SettleRequest } from '../limiter/remote-limiter.ts';

/** Whole milliseconds since the request was counted. */
export interface RequestTimes {
  readonly durationMs: number;
  /** At least 1, or 0 if no stream had begun. */
  readonly firstChunkMs: number;
}

/**
 * How a counted request is metered. Without a complete answer the full reservation stays charged.
 */
export function settlementOf(ending: Ending, { durationMs, firstChunkMs }: RequestTimes): SettleRequest {
  const errorCode = errorCodeOf(ending);
  const usage = 'usage' in ending ? ending.usage : null;
  return {
    answered: errorCode === null,
    usageValid: usage !== null,
    promptTokens: usage?.promptTokens ?? 0,
    completionTokens: usage?.completionTokens ?? 0,
    durationMs,
    errorCode: errorCode ?? '',
    firstChunkMs,
  };
}
