import type { Context } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type Span,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '@tidegate/runtime';
import type { TracingSettings } from './settings.ts';
import type { SpanCounter } from './spans.ts';

/** Minimum time between two log lines about a collector that fails. */
const WARN_EVERY_MS = 60_000;

export interface OutboundOptions {
  readonly exporter: SpanExporter;
  readonly settings: Pick<TracingSettings, 'queue' | 'timeoutMs'>;
  readonly spans: SpanCounter;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Sends ended spans to the collector, one batch at a time. Spans wait in a queue for their batch.
 * While the queue is full, further spans are dropped. OpenTelemetry's own queue has the same bound,
 * but does not report how many it dropped.
 */
export class Outbound implements SpanProcessor {
  readonly #options: OutboundOptions;
  readonly #batches: BatchSpanProcessor;
  #waiting = 0;
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: OutboundOptions) {
    this.#options = options;
    const { exporter, settings } = options;
    const { maxSpans, maxBatch, everyMs } = settings.queue;
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (batch, report) => this.#send(batch, report),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: maxSpans,
      maxExportBatchSize: maxBatch,
      scheduledDelayMillis: everyMs,
      exportTimeoutMillis: settings.timeoutMs,
    });
  }

  onStart(_span: Span, _parent: Context): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= this.#options.settings.queue.maxSpans) {
      this.#options.spans.inc({ result: 'dropped' });
      return;
    }
    this.#waiting++;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  #send(batch: ReadableSpan[], report: (result: ExportResult) => void): void {
    this.#waiting -= batch.length;
    this.#options.exporter.export(batch, (result) => {
      const sent = result.code === ExportResultCode.SUCCESS;
      this.#options.spans.inc({ result: sent ? 'sent' : 'failed' }, batch.length);
      if (!sent) this.#failed(result.error);
      report(result);
    });
  }

  #failed(error: Error | undefined): void {
    const nowMs = performance.now();
    if (nowMs - this.#warnedAtMs < WARN_EVERY_MS) return;
    this.#warnedAtMs = nowMs;
    // The other members of the error may contain the collector's answer.
    this.#options.log.warn({ reason: error?.message }, 'spans could not be sent to the collector');
  }
}
