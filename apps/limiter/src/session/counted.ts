import type { Call__Output } from '@tidegate/rpc';
import type { LimiterMetrics } from '../metrics.ts';
import { type DispatchDeps, dispatch, type Outcome } from './dispatch.ts';

/** Answers calls and counts the decisions by call and outcome. */
export const countedDispatch =
  (deps: DispatchDeps, metrics: LimiterMetrics) =>
  async (call: Call__Output): Promise<Outcome> => {
    const startedMs = performance.now();
    const outcome = await dispatch(deps, call);
    metrics.decided(call.call ?? 'none', nameOf(outcome), (performance.now() - startedMs) / 1_000);
    return outcome;
  };

function nameOf({ admission, authenticate, takeLargeBody, heartbeat, reportInvalidKey }: Outcome): string {
  const decision = admission ?? authenticate;
  if (decision) return Object.keys(decision)[0] ?? 'none';
  if (takeLargeBody) return String(takeLargeBody.result);
  if (heartbeat) return heartbeat.leaseLost ? 'leaseLost' : heartbeat.leaseUnknown ? 'leaseUnknown' : 'alive';
  if (reportInvalidKey) return reportInvalidKey.blockedRemainingMs ? 'blocked' : 'counted';
  return 'done';
}
