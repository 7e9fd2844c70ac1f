import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from '@tidegate/runtime';
import {
  type Collector,
  eventually,
  type ReceivedSpan,
  startCollector,
  type UpstreamHandler,
} from '@tidegate/testing';
import { startTracing, type Tracing } from '@tidegate/tracing';
import { readConfig } from '../config.ts';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const traceparent = (flags: string) => `00-${TRACE}-${PARENT}-${flags}`;

let collector: Collector;
let tracing: Tracing | null;
let harness: Harness;
let answer: UpstreamHandler;

beforeAll(async () => {
  collector = await startCollector();
  const { tracing: settings } = readConfig({
    LIMITER_ADDRESSES: 'limiter:1',
    RUNNER_ADDRESS: 'runner:1',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '10',
  });
  tracing = await startTracing({
    settings,
    service: 'gateway',
    metrics: new Registry(),
    log: { info() {}, warn() {} },
  });
  harness = await startHarness({ tracing, upstream: (request, reply) => answer(request, reply) });
});
afterAll(async () => {
  await harness.stop();
  await tracing?.stop();
  await collector.close();
});

/** The spans of a request, once the request's own, which comes last, has arrived. */
async function spansOf(response: Response): Promise<ReceivedSpan[]> {
  const id = response.headers.get('x-request-id');
  const of = () => collector.spans().find(({ attributes }) => attributes['tidegate.request.id'] === id);
  const { traceId, spanId } = await eventually(of);
  return collector
    .spans()
    .filter((span) => span.traceId === traceId && [span.spanId, span.parentId].includes(spanId));
}

describe("a completion's trace", () => {
  it('has a span for each phase and each call to a model, with counts and no content', async () => {
    const handlers: UpstreamHandler[] = [
      (_request, reply) => reply.reset(),
      async (_request, reply) => {
        await reply.event({ choices: [{ index: 0, delta: { content: 'secret-answer' } }] });
        await reply.event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
        await reply.event({
          choices: [],
          usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
        });
        await reply.done();
      },
    ];
    answer = (request, reply) => handlers.shift()?.(request, reply);
    const replicas = ['one', 'two'].map((replicaId) => ({ replicaId, baseUrl: `${harness.model.url}/v1` }));
    await harness.publish({ name: 'pair', replicas });
    const body = {
      ...hello,
      model: 'pair',
      stream: true,
      messages: [{ role: 'user', content: 'secret-prompt' }],
    };
    const response = await harness.complete(body, { headers: { traceparent: traceparent('01') } });
    expect(await response.text()).toContain('[DONE]');
    const spans = await spansOf(response);
    expect(spans.map(({ name }) => name).sort()).toEqual(
      ['POST /v1/chat/completions', 'admit', 'chat up', 'chat up', 'receive', 'settle'].sort(),
    );
    const named = (name: string) => spans.filter((span) => span.name === name);
    const [first, second] = named('chat up');
    expect(first).toMatchObject({ failed: true, attributes: { 'error.type': 'unreached' } });
    expect(second).toMatchObject({ failed: false, events: ['first chunk'] });
    expect(second?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'up',
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.output_tokens': 2,
      'http.response.status_code': 200,
    });
    const [root] = named('POST /v1/chat/completions');
    expect(root).toMatchObject({ traceId: TRACE, parentId: PARENT, failed: false });
    expect(root?.attributes).toMatchObject({
      'http.response.status_code': 200,
      'gen_ai.request.model': 'pair',
    });
    expect(JSON.stringify(collector.received.map((request) => request.body))).not.toMatch(
      /secret|ti_[0-9A-Za-z]/,
    );
    expect(harness.logged.some((line) => line.includes(`"traceId":"${TRACE}"`))).toBe(true);
  });

  it('reaches the model with the span of the call, and the limiter with that of the phase', async () => {
    answer = (_request, reply) => reply.json(wholeAnswer());
    const response = await harness.complete(hello, {
      headers: { tracestate: 'vendor=1', traceparent: traceparent('01') },
    });
    const spans = await spansOf(response);
    const idOf = (name: string) => spans.find((span) => span.name === name)?.spanId;
    expect(harness.model.requests.at(-1)?.headers).toMatchObject({
      traceparent: `00-${TRACE}-${idOf('chat up')}-01`,
      tracestate: 'vendor=1',
      'x-request-id': response.headers.get('x-request-id'),
    });
    expect(harness.limiterServer.of('admit').at(-1)?.traceparent).toBe(`00-${TRACE}-${idOf('admit')}-01`);
    expect(harness.limiterServer.of('settle').at(-1)?.traceparent).toBe(`00-${TRACE}-${idOf('settle')}-01`);
  });

  it('is not recorded if the caller does not sample it, which the model learns and the limiter need not know', async () => {
    answer = (_request, reply) => reply.json(wholeAnswer());
    const response = await harness.complete(hello, { headers: { traceparent: traceparent('00') } });
    expect(response.status).toBe(200);
    expect(harness.model.requests.at(-1)?.headers.traceparent).toMatch(new RegExp(`^00-${TRACE}-.*-00$`));
    expect(harness.limiterServer.of('admit').at(-1)?.traceparent).toBe('');
  });

  it('is not begun for callers without a valid key', async () => {
    const before = harness.limiterServer.of('admit').length;
    const headers = { authorization: 'Bearer ti_wrong', traceparent: traceparent('01') };
    const refused = await harness.complete(hello, { headers });
    expect(refused.status).toBe(401);
    answer = (_request, reply) => reply.json(wholeAnswer());
    await spansOf(await harness.complete(hello));
    const id = refused.headers.get('x-request-id');
    expect(collector.spans().some(({ attributes }) => attributes['tidegate.request.id'] === id)).toBe(false);
    expect(harness.limiterServer.of('admit')).toHaveLength(before + 1);
  });
});
