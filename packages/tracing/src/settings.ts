import { ConfigError, durationMs, flag, secret, wholeNumber } from '@tidegate/runtime';
import { z } from 'zod';

/*
 * The standard variables of OpenTelemetry that Tidegate reads itself. The exporter reads a few
 * more, for compression and for the collector's certificates.
 */

export const SAMPLERS = [
  ...(['always_on', 'always_off', 'traceidratio'] as const),
  ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Where spans go, and which ones. */
export interface TracingSettings {
  readonly url: string;
  readonly protocol: Protocol;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Null: the program's own name. */
  readonly serviceName: string | null;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: SamplerName;
  /** From 0 to 1. Only the ratio samplers use it. */
  readonly ratio: number;
  readonly queue: {
    readonly maxSpans: number;
    readonly maxBatch: number;
    readonly everyMs: number;
  };
}

const endpoint = z.url({ protocol: /^https?$/, error: 'must be a URL that starts with http:// or https://' });
const protocol = z.enum(
  PROTOCOLS,
  `must be one of ${PROTOCOLS.join(', ')}: give the collector's address for OTLP over HTTP, usually port 4318`,
);

const PAIR = /^([^=,;\s"\\]+)=([^,;\s"\\]*)$/;

/** One or more pairs `name=value`, separated by commas. Names and values are percent-encoded. */
const pairs = z.string().transform((text, context): Record<string, string> => {
  try {
    const entries = text.split(',').map((entry) => {
      const [, name = '', value = ''] = PAIR.exec(entry.trim()) ?? [];
      if (name === '') throw new Error('no pair');
      return [decodeURIComponent(name), decodeURIComponent(value)];
    });
    return Object.fromEntries(entries);
  } catch {
    const message =
      'must be name=value, or several separated by commas, with other characters percent-encoded';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }
});

const ratio = z
  .string()
  .regex(/^\d*\.?\d+$/, 'must be a number from 0 to 1')
  .transform(Number)
  .refine((value) => value <= 1, 'must be a number from 0 to 1');

const MAX_QUEUED = 65_536;

/** The variables that a traced service reads. `tracingOf` turns them into settings. */
export const tracingFields = {
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint
    .optional()
    .describe(
      'Turns [tracing](tracing.md) on: the URL of a collector that takes OTLP over HTTP. `/v1/traces` is added to it',
    ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint
    .optional()
    .describe('The same, but as a complete URL: nothing is added to it'),
  OTEL_SDK_DISABLED: flag.describe('Turns tracing off, whatever the other variables say'),
  OTEL_TRACES_EXPORTER: z
    .enum(['otlp', 'none'], 'must be otlp or none')
    .default('otlp')
    .describe('`none` turns tracing off, too'),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.optional().describe('How spans are sent. Default: `http/protobuf`'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: protocol
    .optional()
    .describe('The same for traces only. It takes precedence'),
  OTEL_EXPORTER_OTLP_HEADERS: secret(pairs.optional()).describe(
    'Headers for the collector, for example its token: `authorization=Bearer%20…`',
  ),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: secret(pairs.optional()).describe(
    'The same for traces only. The headers for all signals are sent as well, except those of the same name',
  ),
  OTEL_EXPORTER_OTLP_TIMEOUT: durationMs
    .optional()
    .describe('Milliseconds that the collector may take for a batch. Default: 10000'),
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: durationMs
    .optional()
    .describe('The same for traces only. It takes precedence'),
  OTEL_SERVICE_NAME: z
    .string()
    .optional()
    .describe(
      '`service.name` of the spans. Default: `tidegate-` and the service. Set it separately for each service',
    ),
  OTEL_RESOURCE_ATTRIBUTES: pairs
    .optional()
    .describe('Further attributes of all spans, for example `deployment.environment.name=production`'),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`)
    .default('parentbased_always_on')
    .describe('[Which requests](tracing.md#which-requests) are traced'),
  OTEL_TRACES_SAMPLER_ARG: ratio
    .optional()
    .describe('The share of requests that the ratio samplers take. Default: 1'),
  OTEL_BSP_MAX_QUEUE_SIZE: wholeNumber(1, MAX_QUEUED)
    .default(2_048)
    .describe('Spans that may wait for the collector. Further ones are dropped and counted'),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: wholeNumber(1, MAX_QUEUED)
    .default(512)
    .describe('Spans in one message to the collector'),
  OTEL_BSP_SCHEDULE_DELAY: durationMs
    .default(5_000)
    .describe('The most milliseconds that spans wait for a batch'),
};

const TIMEOUT_MS = 10_000;
const PATH = '/v1/traces';

/**
 * Null: tracing is off.
 * @throws ConfigError
 */
export function tracingOf(config: z.output<z.ZodObject<typeof tracingFields>>): TracingSettings | null {
  const base = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base && `${base.replace(/\/+$/, '')}${PATH}`);
  if (!url || config.OTEL_SDK_DISABLED || config.OTEL_TRACES_EXPORTER === 'none') return null;
  const sampler = config.OTEL_TRACES_SAMPLER;
  if (config.OTEL_TRACES_SAMPLER_ARG !== undefined && !sampler.endsWith('traceidratio'))
    throw new ConfigError([
      {
        variable: 'OTEL_TRACES_SAMPLER_ARG',
        reason: 'is set, but OTEL_TRACES_SAMPLER does not sample by ratio',
      },
    ]);
  const maxSpans = config.OTEL_BSP_MAX_QUEUE_SIZE;
  return {
    url,
    protocol:
      config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? config.OTEL_EXPORTER_OTLP_PROTOCOL ?? 'http/protobuf',
    // If the exporter finds the headers for all signals in the environment, it adds them by itself.
    headers: { ...config.OTEL_EXPORTER_OTLP_HEADERS, ...config.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
    timeoutMs: config.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? config.OTEL_EXPORTER_OTLP_TIMEOUT ?? TIMEOUT_MS,
    serviceName: config.OTEL_SERVICE_NAME ?? null,
    resource: config.OTEL_RESOURCE_ATTRIBUTES ?? {},
    sampler,
    ratio: config.OTEL_TRACES_SAMPLER_ARG ?? 1,
    queue: {
      maxSpans,
      maxBatch: Math.min(config.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, maxSpans),
      everyMs: config.OTEL_BSP_SCHEDULE_DELAY,
    },
  };
}
