import { randomUUID } from 'node:crypto';
import {
  type Context,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent, TraceState } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { version, within } from '@tidegate/runtime';
import { Outbound } from './outbound.ts';
import type { TracingSettings } from './settings.ts';
import type { SpanCounter } from './spans.ts';
import type { Attributes, Span, SpanStart, TraceOrigin, Tracing, TracingOptions } from './tracing.ts';

/*
 * Only this file and `outbound.ts` use OpenTelemetry's SDK. They are loaded only if tracing is on.
 */

const STOP_MS = 3_000;
const SAMPLED = 1;
const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const;

export interface SdkOptions extends Omit<TracingOptions, 'settings' | 'metrics'> {
  readonly settings: TracingSettings;
  readonly spans: SpanCounter;
}

export function openTracing(options: SdkOptions): Tracing {
  const { settings } = options;
  const { url, headers, timeoutMs, protocol } = settings;
  const exporterSettings = { url, headers, timeoutMillis: timeoutMs };
  const exporter =
    protocol === 'http/json' ? new JsonExporter(exporterSettings) : new ProtobufExporter(exporterSettings);
  const provider = new TracerProvider({
    sampler: samplerOf(settings),
    resource: resourceOf(options),
    spanProcessors: [new Outbound({ ...options, exporter })],
  });
  const tracer = provider.getTracer('tidegate', version);
  return {
    begin(origin, start) {
      // One offset for the whole trace in this process, so that child spans stay within their
      // parents.
      return beginIn(tracer, contextOf(origin), start, Date.now() - performance.now());
    },
    async stop() {
      const stopped = provider.shutdown().catch(() => {});
      await within(stopped, STOP_MS, undefined);
    },
  };
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const name = sampler.replace('parentbased_', '');
  const root =
    name === 'always_on'
      ? new AlwaysOnSampler()
      : name === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return name === sampler ? root : new ParentBasedSampler({ root });
}

const resourceOf = ({ settings: { serviceName, resource }, service }: SdkOptions) =>
  defaultResource().merge(
    resourceFromAttributes({
      'service.name': `tidegate-${service}`,
      'service.namespace': 'tidegate',
      'service.version': version,
      'service.instance.id': randomUUID(),
      ...resource,
      ...(serviceName === null ? {} : { 'service.name': serviceName }),
    }),
  );

function contextOf({ traceparent, tracestate }: TraceOrigin): Context {
  const parent = traceparent === undefined ? null : parseTraceParent(traceparent);
  if (!parent) return ROOT_CONTEXT;
  parent.isRemote = true;
  if (tracestate) parent.traceState = new TraceState(tracestate);
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

function beginIn(tracer: Tracer, parent: Context, start: SpanStart, offsetMs: number): Span {
  const { name, role, atMs, attributes } = start;
  const span = tracer.startSpan(name, { kind: KINDS[role], startTime: atMs + offsetMs }, parent);
  if (!span.isRecording()) return new UnsampledSpan(span.spanContext());
  const begun = new SampledSpan(tracer, span, offsetMs);
  if (attributes) begun.set(attributes);
  return begun;
}

abstract class ContextOfSpan {
  readonly #context: SpanContext;

  constructor(context: SpanContext) {
    this.#context = context;
  }

  get traceId(): string {
    return this.#context.traceId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#context;
    return `00-${traceId}-${spanId}-0${traceFlags & SAMPLED}`;
  }

  get tracestate(): string {
    return this.#context.traceState?.serialize() ?? '';
  }
}

class SampledSpan extends ContextOfSpan implements Span {
  readonly sampled = true;
  readonly #tracer: Tracer;
  readonly #span: OtelSpan;
  readonly #offsetMs: number;

  constructor(tracer: Tracer, span: OtelSpan, offsetMs: number) {
    super(span.spanContext());
    this.#tracer = tracer;
    this.#span = span;
    this.#offsetMs = offsetMs;
  }

  child(start: SpanStart): Span {
    return beginIn(this.#tracer, trace.setSpan(ROOT_CONTEXT, this.#span), start, this.#offsetMs);
  }

  set(attributes: Attributes): void {
    for (const name in attributes) {
      const value = attributes[name];
      if (value !== null && value !== undefined) this.#span.setAttribute(name, value);
    }
  }

  event(name: string, atMs: number): void {
    this.#span.addEvent(name, atMs + this.#offsetMs);
  }

  end(atMs: number, error: string | null = null): void {
    if (error !== null) {
      this.#span.setAttribute('error.type', error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end(atMs + this.#offsetMs);
  }
}

class UnsampledSpan extends ContextOfSpan implements Span {
  readonly sampled = false;

  child(): Span {
    return this;
  }

  set(): void {}

  event(): void {}

  end(): void {}
}
