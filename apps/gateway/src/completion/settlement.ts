import type { Ending } from '../ending.ts';
import type { SettleRequest } from '../limiter/remote-limiter.ts';
import type { AnswerUsage } from '../upstream/usage.ts';

/** Whole milliseconds since the request was counted. */
export interface RequestTimes {
  readonly durationMs: number;
  /** At least 1, or 0 if no stream had begun. */
  readonly firstChunkMs: number;
}

/**
 * How a counted request is metered. Without a complete answer the full reservation stays charged.
 */
export function settlementOf(ending: Ending, times: RequestTimes): SettleRequest {
  switch (ending.kind) {
    case 'whole':
    case 'streamed':
      return answered(ending.usage, times);
    case 'refused':
      return failed(ending.code, times);
    case 'broken':
      return failed(ending.errorCode, times);
    case 'aborted':
      return failed(ending.reason, times);
  }
}

const answered = (usage: AnswerUsage | null, { durationMs, firstChunkMs }: RequestTimes): SettleRequest => ({
  answered: true,
  usageValid: usage !== null,
  promptTokens: usage?.promptTokens ?? 0,
  completionTokens: usage?.completionTokens ?? 0,
  durationMs,
  errorCode: '',
  firstChunkMs,
});

const failed = (errorCode: string, { durationMs, firstChunkMs }: RequestTimes): SettleRequest => ({
  answered: false,
  usageValid: false,
  promptTokens: 0,
  completionTokens: 0,
  durationMs,
  errorCode,
  firstChunkMs,
});
