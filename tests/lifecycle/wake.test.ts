import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type Collector, eventually, type ReceivedSpan, startCollector } from '@tidegate/testing';
import { controlOf, must, OPERATOR } from '../support/control.ts';
import { ask, client } from '../support/org.ts';
import { useStack } from '../support/stack.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const CONTENT = 'Good morning to the one that is traced';

describe('the demo model that wakes on request', () => {
  let collector: Collector;
  const stack = useStack(async () => {
    collector = await startCollector();
    const traced = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
      // Only requests whose caller asks for it.
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    };
    return { env: { gateway: traced, limiter: traced, metering: traced, runner: traced } };
  });
  afterAll(() => collector.close());
  const shown = async () => {
    const wanted = { org: stack().info.org ?? '', name: 'demo-wake' };
    return must(await controlOf(stack()).showModel(OPERATOR, wanted));
  };
  const condition = async () => (await shown()).condition;
  /** All conditions that it has had. */
  const conditions = async () => (await shown()).changes.map((change) => change.condition);

  /**
   * Wakes the model again by a request. Expects spans of each service in its trace, and no content.
   */
  async function tracesTheWake(): Promise<void> {
    const answer = await fetch(`${stack().info.gateway}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${stack().info.apiKey}`,
        'content-type': 'application/json',
        traceparent: `00-${TRACE}-${PARENT}-01`,
      },
      body: JSON.stringify(ask('demo-wake', CONTENT)),
    });
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(text).toContain('"model":"demo-wake"');
    const requestId = answer.headers.get('x-request-id') ?? '';
    // Each service sends its spans by itself.
    await eventually(() => {
      const spans = collector.spans().filter(({ traceId }) => traceId === TRACE);
      expect(treeOf(spans)).toEqual({
        'gateway POST /v1/chat/completions': {
          'gateway receive': {},
          'gateway admit': { 'limiter limiter admit': {} },
          'gateway wake': { 'runner runner wake': {} },
          'gateway reserve': { 'limiter limiter reserve': {} },
          'gateway chat demo-wake': {},
          'gateway settle': { 'limiter limiter settle': {}, 'metering metering write': {} },
        },
      });
      return true;
    });
    for (const { attributes } of collector
      .spans()
      .filter(({ name }) => name !== 'chat demo-wake' && !PHASE.test(name)))
      expect(attributes['tidegate.request.id']).toBe(requestId);
    const sent = collector.received.map(({ body }) => body).join();
    for (const content of [CONTENT, text, stack().info.apiKey ?? '', 'Bearer'])
      expect(sent).not.toContain(content);
    const logOf = (service: string) => readFileSync(join(stack().dataDir, 'logs', `${service}.log`), 'utf8');
    await eventually(() => logOf('gateway').includes(TRACE) && logOf('runner').includes(requestId));
  }

  it('answers its first request after really starting its process, and sleeps again when idle [service.wake] [state.model.asleep]', async () => {
    const api = client(stack().info.gateway, stack().info.apiKey ?? '');
    expect(await condition()).toBe('asleep');
    expect(await conditions()).not.toContain('running');
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.chat.completions.create(ask('demo-wake', 'Good morning'))),
    );
    for (const answer of answers) expect(answer.choices[0]?.message.content).toMatch(/\w/);
    // It may sleep again before this process sees it run.
    await eventually(async () => (await conditions()).includes('running'));
    await eventually(async () => (await condition()) === 'asleep', { intervalMs: 500 });
    await tracesTheWake();
  });
});

const PHASE = /^(receive|admit|wake|reserve|settle)$/;

interface Tree {
  [span: string]: Tree;
}

function treeOf(spans: readonly ReceivedSpan[], parentId = PARENT): Tree {
  return Object.fromEntries(
    spans
      .filter((span) => span.parentId === parentId)
      .map((span) => [`${span.service.replace('tidegate-', '')} ${span.name}`, treeOf(spans, span.spanId)]),
  );
}
