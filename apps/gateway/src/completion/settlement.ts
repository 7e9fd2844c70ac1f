import type { Ending } from '../ending.ts';
import type { SettleRequest } from '../limiter/limiter.ts';
import type { Usage } from '../upstream/usage.ts';

/**
 * How a counted request is metered. Without a complete answer the full reservation stays charged.
 */
export function settlementOf(ending: Ending, durationMs: number): SettleRequest {
  switch (ending.kind) {
    case 'whole':
    case 'streamed':
      return answered(ending.usage, durationMs);
    case 'refused':
      return failed(ending.code, durationMs);
    case 'broken':
      return failed(ending.errorCode, durationMs);
    case 'aborted':
      return failed(ending.reason, durationMs);
  }
}

const answered = (usage: Usage | null, durationMs: number): SettleRequest => ({
  answered: true,
  usageValid: usage !== null,
  promptTokens: usage?.promptTokens ?? 0,
  completionTokens: usage?.completionTokens ?? 0,
  durationMs,
  errorCode: '',
});

const failed = (errorCode: string, durationMs: number): SettleRequest => ({
  answered: false,
  usageValid: false,
  promptTokens: 0,
  completionTokens: 0,
  durationMs,
  errorCode,
});
