import { Counter, type Registry } from '@tidegate/runtime';

const RESULTS = ['sent', 'dropped', 'failed'] as const;
export type SpanCounter = Counter<'result'>;

/** Registers the counter of spans. */
export function registerSpanCounter(registry: Registry): SpanCounter {
  const spans = new Counter({
    name: 'tidegate_trace_spans_total',
    help: 'Spans of sampled traces: sent to the collector, dropped because too many waited, or not sent because sending failed.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of RESULTS) spans.inc({ result }, 0);
  return spans;
}
