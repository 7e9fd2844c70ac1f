import { SETTLEMENT_QUEUE } from '@tidegate/contracts';
import type { Tracing } from '@tidegate/tracing';
import { z } from 'zod';
import type { BatchJob } from '../queue/process.ts';

/** Only what is needed here. The job is checked elsewhere. */
const jobSchema = z.object({
  traces: z.record(z.string(), z.string()),
  settlements: z.array(
    z.object({ reservationId: z.string(), admittedAtMs: z.number(), durationMs: z.number().nullable() }),
  ),
});

export interface TraceOptions {
  readonly tracing: Tracing | null;
  /** Unix time. */
  readonly nowMs: () => number;
}

const hasTraces = (data: unknown): boolean => (data as { traces?: unknown } | null)?.traces !== undefined;

/**
 * Works on a job. Each of its requests whose trace is sampled gets a span for this work in its own
 * trace, with the lag from the end of the request. One span for the whole job, with links to those
 * traces, would have no parent, and most samplers would not take it.
 */
export async function traceJob(
  { tracing, nowMs }: TraceOptions,
  job: BatchJob,
  work: () => Promise<void>,
): Promise<void> {
  if (!tracing || !hasTraces(job.data)) return work();
  const { success, data } = jobSchema.safeParse(job.data);
  if (!success) return work();
  const startedAtMs = performance.now();
  let error: string | null = 'not_written';
  try {
    await work();
    error = null;
  } finally {
    const endedAtMs = performance.now();
    for (const { reservationId, admittedAtMs, durationMs } of data.settlements) {
      const traceparent = data.traces[reservationId];
      if (traceparent === undefined) continue;
      const lagMs = nowMs() - admittedAtMs - (durationMs ?? 0);
      const attributes = {
        'messaging.system': 'bullmq',
        'messaging.destination.name': SETTLEMENT_QUEUE,
        'messaging.operation.type': 'process',
        'messaging.batch.message_count': data.settlements.length,
        'tidegate.request.id': `req_${reservationId}`,
        'tidegate.settlement.lag_ms': Math.max(0, lagMs),
      };
      tracing
        .begin({ traceparent }, { name: 'metering write', role: 'consumer', atMs: startedAtMs, attributes })
        .end(endedAtMs, error);
    }
  }
}
