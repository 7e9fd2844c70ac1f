import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { loadConfig, Registry } from '@tidegate/runtime';
import { type Collector, eventually, startCollector, startUpstream } from '@tidegate/testing';
import { z } from 'zod';
import { startTracing } from './index.ts';
import { tracingFields, tracingOf } from './settings.ts';
import type { Tracing } from './tracing.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const start = { name: 'work', role: 'server', atMs: performance.now() } as const;

let metrics: Registry;
let tracing: Tracing | null = null;
let collector: Collector | null = null;
const warned: string[] = [];

async function open(env: Record<string, string>): Promise<Tracing> {
  metrics = new Registry();
  tracing = await startTracing({
    settings: tracingOf(
      loadConfig(z.object(tracingFields), {
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_BSP_SCHEDULE_DELAY: '10',
        ...env,
      }),
    ),
    service: 'limiter',
    metrics,
    log: { info: () => {}, warn: (_fields: object, message: string) => warned.push(message) } as never,
  });
  if (!tracing) throw new Error('it is off');
  return tracing;
}

async function counted(result: string): Promise<number> {
  const { values } = await (
    metrics.getSingleMetric('tidegate_trace_spans_total') as never as {
      get(): Promise<{ values: { labels: { result: string }; value: number }[] }>;
    }
  ).get();
  return values.find(({ labels }) => labels.result === result)?.value ?? 0;
}

afterEach(async () => {
  await tracing?.stop();
  await collector?.close();
  tracing = null;
  collector = null;
  warned.splice(0);
});

describe('tracing', () => {
  it("continues the caller's trace, and passes it on with its state", async () => {
    collector = await startCollector();
    const opened = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const origin = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' };
    const span = opened.begin(origin, { ...start, attributes: { kept: 1, left: null } });
    const child = span.child({ name: 'part', role: 'client', atMs: start.atMs + 5 });
    expect(child.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    expect(child.tracestate).toBe('vendor=1');
    child.end(start.atMs + 7, 'unreached');
    span.end(start.atMs + 10);
    await eventually(() => collector?.spans().length === 2);
    const [part, work] = collector.spans();
    expect(part).toMatchObject({ name: 'part', parentId: work?.spanId, failed: true });
    expect(part?.attributes).toEqual({ 'error.type': 'unreached' });
    expect(work).toMatchObject({
      service: 'tidegate-limiter',
      traceId: TRACE,
      parentId: PARENT,
      failed: false,
    });
    expect(work?.attributes).toEqual({ kept: 1 });
    expect((part?.startMs ?? 0) - (work?.startMs ?? 0)).toBeCloseTo(5, 1);
    await eventually(async () => (await counted('sent')) === 2);
  });

  it.each([
    ['malformed', `00-${TRACE}-${PARENT}`],
    ['all zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['sent twice', `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`],
  ])('begins a trace of its own if what the caller sent is %s', async (_what, traceparent) => {
    collector = await startCollector();
    const opened = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const span = opened.begin({ traceparent, tracestate: 'vendor=1' }, start);
    expect(span.sampled).toBe(true);
    expect([span.traceId, span.tracestate]).not.toContain(TRACE);
    expect(span.tracestate).toBe('');
    span.end(start.atMs);
  });

  it('does what the sampler decides, and passes on that a trace is not sampled', async () => {
    collector = await startCollector();
    const opened = await open({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    });
    const own = opened.begin({}, start);
    const theirs = opened.begin({ traceparent: `00-${TRACE}-${PARENT}-00` }, start);
    const sampled = opened.begin({ traceparent: `00-${TRACE}-${PARENT}-01` }, start);
    expect([own.sampled, theirs.sampled, sampled.sampled]).toEqual([false, false, true]);
    expect(theirs.child(start).traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    for (const span of [own, theirs, sampled]) span.end(start.atMs);
    await opened.stop();
    // The stop does not wait for a collector that is slow to read.
    await eventually(() => (collector?.spans().length ?? 0) > 0);
    expect(collector.spans()).toHaveLength(1);
  });

  it('counts each span that a silent collector does not take, warns once, and stops in time', async () => {
    const silent = await startUpstream((_request, reply) => reply.closed);
    const opened = await open({
      OTEL_EXPORTER_OTLP_ENDPOINT: silent.url,
      OTEL_EXPORTER_OTLP_TIMEOUT: '50',
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5',
    });
    for (let i = 0; i < 100; i++) opened.begin({}, start).end(start.atMs);
    expect(await counted('dropped')).toBeGreaterThanOrEqual(85);
    await eventually(async () => (await counted('failed')) + (await counted('dropped')) === 100);
    expect(warned).toEqual(['spans could not be sent to the collector']);
    await opened.stop();
    await silent.close();
  });

  it('sends protobuf unless told otherwise, with the headers that were set', async () => {
    const server = await startUpstream((_request, reply) => reply.json({}));
    const opened = await open({
      OTEL_EXPORTER_OTLP_ENDPOINT: server.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: '',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=tide',
    });
    opened.begin({}, start).end(start.atMs);
    await opened.stop();
    await eventually(() => server.requests.length > 0);
    expect(server.requests[0]?.path).toBe('/v1/traces');
    expect(server.requests[0]?.headers).toMatchObject({
      'content-type': 'application/x-protobuf',
      'x-tenant': 'tide',
    });
    await server.close();
  });

  it('loads no part of OpenTelemetry while it is off', async () => {
    const dist = (path: string) => new URL(`../../../${path}`, import.meta.url).href;
    const script = (settings: string) => `
      import Module from 'node:module';
      await import('${dist('apps/gateway/dist/assemble.js')}');
      const { startTracing, tracingOf } = await import('${dist('packages/tracing/dist/index.js')}');
      const { Registry } = await import('${dist('packages/runtime/dist/index.js')}');
      const settings = ${settings};
      await startTracing({ settings, service: 'x', metrics: new Registry(), log: { info() {} } });
      const loaded = Object.keys(Module._cache).filter((path) => /opentelemetry.(sdk|core|exporter|otlp)/.test(path));
      console.log(loaded.length);
      process.exit();`;
    const loaded = async (settings: string) =>
      Number(
        (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script(settings)])).stdout,
      );
    const on = `{ url: 'http://127.0.0.1:1/v1/traces', headers: {}, timeoutMs: 1000, serviceName: null, resource: {},
      protocol: 'http/json', sampler: 'always_off', ratio: 1, queue: { maxSpans: 1, maxBatch: 1, everyMs: 1000 } }`;
    expect(await loaded(on)).toBeGreaterThan(10);
    expect(await loaded('null')).toBe(0);
  });
});
