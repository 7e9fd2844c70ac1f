import { startUpstream, type Upstream } from './upstream.ts';

/** A span as a collector received it. */
export interface ReceivedSpan {
  /** `service.name` of its resource. */
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: none. */
  readonly parentId: string;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly events: readonly string[];
  readonly failed: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

export interface Collector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. The protocol must be `http/json`. */
  readonly url: string;
  /** Everything received, as it came. */
  readonly received: Upstream['requests'];
  spans(): ReceivedSpan[];
  close(): Promise<void>;
}

/** Receives traces by OTLP over HTTP. */
export async function startCollector(): Promise<Collector> {
  const server = await startUpstream((_request, reply) => reply.json({}));
  return {
    url: server.url,
    received: server.requests,
    spans: () => server.requests.flatMap((request) => spansIn(request.json())),
    close: () => server.close(),
  };
}

interface Attribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly boolValue?: boolean;
    readonly intValue?: string | number;
    readonly doubleValue?: number;
  };
}

interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes?: readonly Attribute[];
  readonly events?: readonly { readonly name: string }[];
  readonly status?: { readonly code?: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

interface OtlpTraces {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly Attribute[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly OtlpSpan[] }[];
  }[];
}

const ERROR = 2;
const NANOS_PER_MS = 1_000_000;

function spansIn({ resourceSpans = [] }: OtlpTraces): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const service = String(attributesOf(resource?.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans = [] }) =>
      spans.map((span) => ({
        service,
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentId: span.parentSpanId ?? '',
        attributes: attributesOf(span.attributes),
        events: (span.events ?? []).map(({ name }) => name),
        failed: span.status?.code === ERROR,
        startMs: Number(span.startTimeUnixNano) / NANOS_PER_MS,
        endMs: Number(span.endTimeUnixNano) / NANOS_PER_MS,
      })),
    );
  });
}

const attributesOf = (attributes: readonly Attribute[] = []): Record<string, string | number | boolean> =>
  Object.fromEntries(
    attributes.map(({ key, value: { stringValue, boolValue, intValue, doubleValue } }) => [
      key,
      stringValue ?? boolValue ?? doubleValue ?? Number(intValue),
    ]),
  );
