import { REHEARSAL } from '@tidegate/contracts';
import type { Call__Output } from '@tidegate/rpc';
import type { Span, Tracing } from '@tidegate/tracing';
import { LimiterError } from '../limiter-error.ts';
import type { LimiterMetrics } from '../metrics.ts';
import { type DispatchDeps, dispatch, type ReplyContent } from './dispatch.ts';
import { requestIdOf } from './ids.ts';

/**
 * Answers calls and counts the decisions, but not those that a gateway only rehearses. A call of a
 * sampled trace gets a span.
 */
export const countedDispatch =
  (deps: DispatchDeps, metrics: LimiterMetrics, tracing: Tracing | null) =>
  async (call: Call__Output): Promise<ReplyContent> => {
    const startedMs = performance.now();
    const span = tracing && call.traceparent ? beginSpan(tracing, call, startedMs) : null;
    try {
      const outcome = await dispatch(deps, call);
      const endedMs = performance.now();
      const name = nameOf(outcome);
      if (call.reserve?.orgId !== REHEARSAL)
        metrics.decided(call.call ?? 'none', name, (endedMs - startedMs) / 1_000);
      if (span) endSpan(span, name, endedMs);
      return outcome;
    } catch (error) {
      span?.end(performance.now(), error instanceof LimiterError ? error.reason : 'internal');
      throw error;
    }
  };

const beginSpan = (tracing: Tracing, call: Call__Output, atMs: number): Span =>
  tracing.begin(call, {
    name: `limiter ${call.call}`,
    role: 'server',
    atMs,
    attributes: {
      'rpc.system.name': 'grpc',
      'rpc.method': `tidegate.limiter.v1.Limiter/Session ${call.call}`,
      'tidegate.request.id': requestIdOf(call),
    },
  });

function endSpan(span: Span, outcome: string, atMs: number): void {
  span.set({ 'tidegate.outcome': outcome });
  span.end(atMs);
}

function nameOf({
  admission,
  authenticate,
  takeLargeBody,
  heartbeat,
  reportInvalidKey,
}: ReplyContent): string {
  const decision = admission ?? authenticate;
  if (decision) return Object.keys(decision)[0] ?? 'none';
  if (takeLargeBody) return String(takeLargeBody.result);
  if (heartbeat) return heartbeat.leaseLost ? 'leaseLost' : heartbeat.leaseUnknown ? 'leaseUnknown' : 'alive';
  if (reportInvalidKey) return reportInvalidKey.blockedRemainingMs ? 'blocked' : 'counted';
  return 'done';
}
