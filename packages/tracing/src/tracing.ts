import type { Logger, Registry } from '@tidegate/runtime';
import type { TracingSettings } from './settings.ts';

export interface TracingOptions {
  /** Null: tracing is off. */
  readonly settings: TracingSettings | null;
  readonly service: string;
  readonly metrics: Registry;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Ids, names of models, words from closed sets, counts. Never what a caller or a model wrote. */
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type SpanRole = 'internal' | 'server' | 'client' | 'consumer';

/** Where a trace comes from, as the W3C headers say. An invalid value counts as absent. */
export interface TraceOrigin {
  readonly traceparent?: string | undefined;
  readonly tracestate?: string | undefined;
}

export interface SpanStart {
  readonly name: string;
  readonly role: SpanRole;
  /** By `performance.now`, like all times of spans. */
  readonly atMs: number;
  readonly attributes?: Attributes;
}

/** One step of a trace. If the trace is not sampled, its methods have no effect. */
export interface Span {
  readonly sampled: boolean;
  readonly traceId: string;
  /**
   * To pass on to other services, so that they continue the trace. It also says whether the trace
   * is sampled.
   */
  readonly traceparent: string;
  /** Empty: none. */
  readonly tracestate: string;
  child(start: SpanStart): Span;
  /** Values that are null or undefined are left out. */
  set(attributes: Attributes): void;
  event(name: string, atMs: number): void;
  /** @param error why the step failed, from a closed set; null: it did not */
  end(atMs: number, error?: string | null): void;
}

export interface Tracing {
  /** Continues the caller's trace, or begins one. */
  begin(origin: TraceOrigin, start: SpanStart): Span;
  /** Sends what is left, for a few seconds at most. */
  stop(): Promise<void>;
}
