import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newModelId, newOrgId } from '@tidegate/contracts';
import { Registry } from '@tidegate/runtime';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import { Catalog, type CatalogModel } from '../catalog/catalog.ts';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';
import { RequestFacts } from './facts.ts';
import { observeParts } from './gauges.ts';
import { ModelMeters } from './models.ts';

let script: UpstreamHandler;
let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({ upstream: (request, reply) => script(request, reply) });
  observeParts(harness.metrics, {
    ...harness,
    connections: () => harness.server.connections(),
    monotonicMs: () => performance.now(),
  });
});
afterAll(() => harness.stop());
beforeEach(() => {
  harness.logged.length = 0;
  script = (_request, reply) => reply.json(wholeAnswer());
});

const streamed = { ...hello, stream: true };
const piece = (content: string, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
});
const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } };

/** The line of the one request that was made. */
async function line(): Promise<Record<string, unknown>> {
  await eventually(() => harness.logged.some((one) => one.includes('"msg":"request"')));
  return JSON.parse(harness.logged.find((one) => one.includes('"msg":"request"')) ?? '');
}
/** The value of the first sample that matches. */
async function sample(name: string, ...labels: string[]): Promise<number> {
  const lines = (await harness.metrics.metrics()).split('\n');
  const found = lines.find(
    (one) => one.startsWith(name) && !one.startsWith('#') && labels.every((label) => one.includes(label)),
  );
  return Number(found?.split(' ').at(-1) ?? Number.NaN);
}
const phase = (name: string) => sample('tidegate_gateway_phase_seconds_count', `phase="${name}"`);

describe('a whole answer', () => {
  it('is counted for its model with its tokens, and logged with both and the replica', async () => {
    await (await harness.complete(hello)).text();
    expect(await line()).toMatchObject({ status: 200, promptTokens: 5, completionTokens: 2, replica: 'r-1' });
    const model = [`org="${harness.orgId}"`, 'model="text"'];
    expect(
      await sample('tidegate_gateway_completions_total', ...model, 'streamed="false"', 'result="answered"'),
    ).toBe(1);
    expect(await sample('tidegate_gateway_tokens_total', ...model, 'kind="prompt"')).toBe(5);
    expect(await sample('tidegate_gateway_tokens_total', ...model, 'kind="completion"')).toBe(2);
    expect(await sample('tidegate_gateway_upstream_responses_total', 'status="200"')).toBe(1);
    for (const name of ['receive', 'admit', 'answer', 'settle']) expect(await phase(name)).toBe(1);
    for (const name of ['images', 'wake', 'reserve']) expect(await phase(name)).toBe(0);
    expect(await sample('tidegate_gateway_limiter_call_seconds_count')).toBeGreaterThan(2);
  });

  it("has the id that the model's server is sent", async () => {
    const response = await harness.complete(hello);
    expect(harness.model.requests.at(-1)?.headers['x-request-id']).toBe(response.headers.get('x-request-id'));
    expect((await line()).requestId).toBe(response.headers.get('x-request-id'));
  });

  it('that fails is counted by the status of the model', async () => {
    script = (_request, reply) => reply.json({ error: {} }, { status: 418 });
    expect((await harness.complete(hello)).status).toBeGreaterThan(399);
    expect(await sample('tidegate_gateway_upstream_responses_total', 'status="4xx"')).toBe(1);
    expect(await sample('tidegate_gateway_completions_total', 'result="refused"', 'streamed="false"')).toBe(
      1,
    );
  });

  it('has a series for each kind of failure from the start, so that the first one is seen as a rise', async () => {
    for (const kind of ['aborted', 'broken', 'unreached', 'upstream_error', 'model_refused'])
      expect(await sample('tidegate_gateway_upstream_failures_total', `kind="${kind}"`)).not.toBeNaN();
  });

  it.each([
    ['answers with 500', (async (_, reply) => reply.json({}, { status: 500 })) satisfies UpstreamHandler],
    ['closes the connection', (async (_, reply) => reply.reset()) satisfies UpstreamHandler],
  ])('whose model %s counts as failed', async (_, fail) => {
    const failed = () => sample('tidegate_gateway_completions_total', 'result="failed"', 'streamed="false"');
    const before = (await failed()) || 0;
    script = fail;
    expect((await harness.complete(hello)).status).toBeGreaterThan(499);
    expect((await failed()) - before).toBe(1);
  });
});

describe('a request that takes no slot', () => {
  it('has nothing to settle, so that refusals do not make settling look fast', async () => {
    const [received, settled] = [await phase('receive'), await phase('settle')];
    expect((await harness.complete({ ...hello, model: 'nope' })).status).toBe(404);
    await line();
    expect([await phase('receive'), await phase('settle')]).toEqual([received + 1, settled]);
  });
});

describe('a stream', () => {
  it('is timed to its first chunk, and by token from there', async () => {
    script = async (_request, reply) => {
      for (const chunk of [piece('Hel'), piece('lo', 'stop'), usage]) await reply.event(chunk);
      await reply.done();
    };
    await (await harness.complete(streamed)).text();
    const { firstChunkMs, ms } = (await line()) as { firstChunkMs: number; ms: number };
    expect(firstChunkMs).toBeGreaterThan(0);
    expect(firstChunkMs).toBeLessThanOrEqual(ms);
    expect(await sample('tidegate_gateway_first_chunk_seconds_count', 'model="text"')).toBe(1);
    expect(await sample('tidegate_gateway_token_seconds_count', 'model="text"')).toBe(1);
  });

  it('that breaks off is not a 200, in the log or in the metric', async () => {
    script = async (_request, reply) => {
      await reply.event(piece('Hi'));
      reply.reset();
    };
    await expect((await harness.complete(streamed)).text()).rejects.toThrow();
    expect(await line()).toMatchObject({ status: 0, code: 'upstream_error', brokenOff: true });
    expect(await sample('tidegate_gateway_requests_total', 'status="0"', 'code="upstream_error"')).toBe(1);
    expect(await sample('tidegate_gateway_completions_total', 'result="broken_off"', 'streamed="true"')).toBe(
      1,
    );
  });

  it('whose client hangs up is not a 200 either', async () => {
    script = async (_request, reply) => {
      await reply.event(piece('Hi'));
      await reply.closed;
    };
    const client = new AbortController();
    const response = await harness.complete(streamed, { signal: client.signal });
    await response.body?.getReader().read();
    expect(await sample('tidegate_gateway_model_requests_in_flight', 'model="text"')).toBe(1);
    expect(await sample('tidegate_gateway_oldest_reservation_seconds')).toBeGreaterThan(0);
    client.abort();
    expect(await line()).toMatchObject({ status: 0, aborted: 'client_closed' });
    expect(await sample('tidegate_gateway_requests_total', 'status="0"', 'code="client_closed"')).toBe(1);
    expect(await sample('tidegate_gateway_oldest_reservation_seconds')).toBe(0);
  });
});

describe('the gauges', () => {
  it('show loads beside their limits, and the replicas of each model', async () => {
    expect(await sample('tidegate_gateway_body_bytes')).toBe(0);
    expect(await sample('tidegate_gateway_body_bytes_max')).toBe(1024 ** 3);
    const socket = connect(harness.server.port, '127.0.0.1');
    await eventually(async () => (await sample('tidegate_gateway_connections')) > 0);
    socket.destroy();
    expect(await sample('tidegate_gateway_connections_max')).toBe(20_000);
    expect(await sample('tidegate_gateway_limiter_ready')).toBe(1);
    expect(await sample('tidegate_gateway_model_replicas', 'model="text"', 'state="usable"')).toBe(1);
  });

  it('count the requests that wait for a model to wake', async () => {
    const name = 'sleepy';
    await harness.publish({ name, mode: 'wake_on_request', condition: 'CONDITION_ASLEEP', replicas: [] });
    const client = new AbortController();
    const answer = harness.complete({ ...hello, model: name }, { signal: client.signal });
    const waiters = () => sample('tidegate_gateway_model_waiters', `model="${name}"`);
    await eventually(async () => (await waiters()) === 1);
    client.abort();
    await expect(answer).rejects.toThrow();
    await eventually(async () => (await waiters()) === 0 || null);
    await eventually(async () => (await phase('wake')) === 1);
  });
});

describe('the series of models', () => {
  const orgId = newOrgId();
  const model = (name: string) => ({ modelId: newModelId(), orgId, name, publishedAtMs: 1 }) as CatalogModel;
  const publish = (catalog: Catalog, ...models: CatalogModel[]) =>
    catalog.apply({ snapshot: true, revision: 1, models, removedModelIds: [] });

  it('begin when a model is published, so that the first request that fails is seen as a rise', async () => {
    const [registry, catalog] = [new Registry(), new Catalog()];
    new ModelMeters(registry, catalog);
    publish(catalog, model('new'));
    expect(await registry.metrics()).toContain('model="new",streamed="false",result="failed"} 0');
  });

  it('are bounded: further models share one, until models are deleted', async () => {
    const [registry, catalog] = [new Registry(), new Catalog()];
    const meters = new ModelMeters(registry, catalog, 2);
    const [a, b, c] = [model('a'), model('b'), model('c')] as const;
    publish(catalog, a, b, c);
    const end = (one: CatalogModel) => meters.ended(one, 'answered', new RequestFacts());
    const names = async () =>
      new Set([...(await registry.metrics()).matchAll(/model="(\w+)"/g)].map(([, name]) => name));
    for (const one of [a, b, c, c]) end(one);
    expect(await names()).toEqual(new Set(['a', 'b', 'other']));
    expect(await registry.metrics()).toContain(
      'tidegate_gateway_completions_total{org="other",model="other",streamed="false",result="answered"} 2',
    );
    publish(catalog, b, c);
    await registry.metrics();
    end(c);
    expect(await names()).toEqual(new Set(['b', 'c', 'other']));
  });
});
