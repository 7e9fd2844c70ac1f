import { registerSpanCounter } from './spans.ts';
import type { Tracing, TracingOptions } from './tracing.ts';

export { type TracingSettings, tracingFields, tracingOf } from './settings.ts';
export { registerSpanCounter } from './spans.ts';
export type { Attributes, Span, SpanStart, TraceOrigin, Tracing } from './tracing.ts';

/** Starts tracing. Null: it is off, and no part of OpenTelemetry is loaded. */
export async function startTracing({ settings, ...options }: TracingOptions): Promise<Tracing | null> {
  const spans = registerSpanCounter(options.metrics);
  if (settings === null) return null;
  const { openTracing } = await import('./sdk.ts');
  options.log.info({ sampler: settings.sampler, ratio: settings.ratio }, 'tracing is on');
  return openTracing({ ...options, settings, spans });
}
