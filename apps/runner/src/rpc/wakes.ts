import type { WakeRequest__Output } from '@tidegate/rpc';
import type { Tracing } from '@tidegate/tracing';
import { outcomeOf, type Woken } from '../fleet/model-status.ts';

const REQUEST_ID = /^req_[A-Za-z0-9]{24}$/;

/** The request that asks for a wake, for the log. */
export const wakingRequestOf = ({ requestId }: WakeRequest__Output): string | undefined =>
  REQUEST_ID.test(requestId) ? requestId : undefined;

/** If the trace of the request that asks is sampled, the wake gets a span in it. */
export async function traceWake(
  tracing: Tracing | null,
  request: WakeRequest__Output,
  wake: () => Promise<Woken>,
): Promise<Woken> {
  if (!tracing || request.traceparent === '') return wake();
  const span = tracing.begin(request, {
    name: 'runner wake',
    role: 'server',
    atMs: performance.now(),
    attributes: {
      'rpc.system.name': 'grpc',
      'rpc.method': 'tidegate.runner.v1.Runner/Wake',
      'tidegate.request.id': wakingRequestOf(request),
      'tidegate.model.id': request.modelId,
    },
  });
  let outcome = 'failed';
  try {
    const woken = await wake();
    outcome = outcomeOf(woken);
    return woken;
  } finally {
    span.set({ 'tidegate.outcome': outcome });
    span.end(performance.now(), outcome === 'failed' ? outcome : null);
  }
}
