import type { Exchange } from '../http/exchange.ts';
import type { Settlement } from '../limiter/limiter.ts';
import type { CallOutcome } from '../upstream/outcome.ts';
import type { Usage } from '../upstream/usage.ts';
import type { Gateway } from './gateway.ts';
import { releaseLargeBody } from './receive-body.ts';

/**
 * Ends the reservation and frees the slots, before the last byte of the answer leaves. It never fails the answer: what the
 * limiter does not acknowledge soon is retried in the background. What was held under a lost lease is settled already.
 */
export async function settle(gateway: Gateway, exchange: Exchange, outcome: CallOutcome): Promise<void> {
  const { held, reservedAtMs } = exchange;
  exchange.held = null;
  if (!held || reservedAtMs === null || exchange.aborted === 'lease_lost') return;
  const durationMs = Math.round(performance.now() - reservedAtMs);
  const settled = gateway.limiter.settle(held, settlementOf(outcome, durationMs));
  if (exchange.largeBody) await Promise.all([settled, releaseLargeBody(gateway, exchange)]);
  else await settled;
}

function settlementOf(outcome: CallOutcome, durationMs: number): Settlement {
  switch (outcome.kind) {
    case 'whole':
    case 'streamed':
      return answered(outcome.usage, durationMs);
    case 'refused':
      return failed(outcome.refusal.code, durationMs);
    case 'unreached':
      return failed(outcome.connected ? 'upstream_error' : 'model_unavailable', durationMs);
    case 'broken':
      return failed(outcome.errorCode, durationMs);
    case 'aborted':
      return failed(outcome.reason, durationMs);
  }
}

const answered = (usage: Usage | null, durationMs: number): Settlement => ({
  answered: true,
  usageValid: usage !== null,
  promptTokens: usage?.promptTokens ?? 0,
  completionTokens: usage?.completionTokens ?? 0,
  durationMs,
  errorCode: '',
});

const failed = (errorCode: string, durationMs: number): Settlement => ({
  answered: false,
  usageValid: false,
  promptTokens: 0,
  completionTokens: 0,
  durationMs,
  errorCode,
});
