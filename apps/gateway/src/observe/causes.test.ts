import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { REFUSAL_CAUSES } from '@tidegate/contracts';
import type { AdmissionOutcome } from '@tidegate/rpc';
import { eventually } from '@tidegate/testing';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';

let harness: Harness;
let modelStatus: number;
/** Refusals are recorded by the hour, and a test must not span two hours. */
const NOW_MS = Date.now();

beforeEach(async () => {
  modelStatus = 200;
  harness = await startHarness({
    env: { MAX_BUFFERED_BODY_BYTES: '20000000' },
    upstream: (_request, reply) => reply.json(wholeAnswer(), { status: modelStatus }),
    nowMs: () => NOW_MS,
  });
});
afterEach(() => harness.stop());

const bodyOf = (bytes: number) => ({ ...hello, messages: [{ role: 'user', content: 'x'.repeat(bytes) }] });
const rateLimited = (cause: string) => ({ rateLimited: { cause, retryAfterMs: 1_000, limit: 5 } });
const quotaExceeded = (cause: string) => ({ quotaExceeded: { cause, retryAfterMs: 86_400_000 } });
const admission = (outcome: object) => {
  harness.limiterServer.answers.admit = () => ({ admission: outcome as AdmissionOutcome });
};

const largeBody = (result: 'RESULT_FULL' | 'RESULT_RECOVERING') => () => {
  harness.limiterServer.answers.takeLargeBody = () => ({ takeLargeBody: { result, retryAfterMs: 9_500 } });
};

type Case = [cause: string, code: string, arrange: () => void, body: unknown];
const said = (code: string, cause: string, outcome: object): Case => [
  cause,
  code,
  () => admission(outcome),
  hello,
];

/** How to produce each cause, and the request that meets it. */
const cases: Case[] = [
  said('rate_limit_exceeded', 'key_requests_per_minute', rateLimited('CAUSE_KEY_REQUESTS_PER_MINUTE')),
  said('rate_limit_exceeded', 'org_requests_per_minute', rateLimited('CAUSE_ORG_REQUESTS_PER_MINUTE')),
  said('rate_limit_exceeded', 'key_requests_at_once', rateLimited('CAUSE_KEY_REQUESTS_AT_ONCE')),
  said('rate_limit_exceeded', 'org_requests_at_once', rateLimited('CAUSE_ORG_REQUESTS_AT_ONCE')),
  said('rate_limit_exceeded', 'recovering', rateLimited('CAUSE_RECOVERING')),
  said('rate_limit_exceeded', 'unknown', rateLimited('CAUSE_UNSPECIFIED')),
  said('quota_exceeded', 'month_requests', quotaExceeded('CAUSE_REQUESTS')),
  said('quota_exceeded', 'month_tokens', quotaExceeded('CAUSE_TOKENS')),
  ['busy', 'rate_limit_exceeded', () => {}, bodyOf(6_000_000)],
  ['large_bodies', 'rate_limit_exceeded', largeBody('RESULT_FULL'), bodyOf(2_200_000)],
  ['recovering', 'rate_limit_exceeded', largeBody('RESULT_RECOVERING'), bodyOf(2_200_000)],
  ['blocked_address', 'rate_limit_exceeded', () => harness.gateway.blocked.block('127.0.0.1', 60_000), hello],
];

describe('a refusal by a limit', () => {
  it.each(cases)(
    'with the cause %s (%s) reports it in the log line and the metric, and not to the caller',
    async (cause, code, arrange, body) => {
      arrange();
      const response = await harness.complete(body);
      expect(response.status).toBe(429);
      const { error } = (await response.json()) as { error: object };
      expect(error).toEqual({ code, type: expect.any(String), message: expect.any(String) });
      await eventually(() => harness.logged.some((line) => line.includes('"msg":"request"')));
      const line = harness.logged.find((one) => one.includes('"msg":"request"')) ?? '';
      expect(JSON.parse(line)).toMatchObject({ status: 429, code, cause });
      const series = `tidegate_gateway_refusals_total{code="${code}",cause="${cause}"} 1`;
      expect(await harness.metrics.metrics()).toContain(series);
    },
  );

  it('has a series for each cause from the start, so that a first refusal is seen as a rise', async () => {
    const series = Object.entries(REFUSAL_CAUSES).flatMap(([code, causes]) =>
      causes.map((cause) => `tidegate_gateway_refusals_total{code="${code}",cause="${cause}"} 0`),
    );
    expect(series).toHaveLength(new Set(cases.map(([cause]) => cause)).size);
    const metrics = await harness.metrics.metrics();
    for (const one of series) expect(metrics).toContain(one);
  });
});

describe('the record of refusals', () => {
  // All of it is in one report, however long the test takes.
  beforeEach(() => harness.refusals.stop());
  const recorded = async () => {
    await harness.refusals.close(60_000);
    return harness.limiterServer.of('reportRefusals').flatMap((call) => call.reportRefusals?.counts ?? []);
  };

  it('has each refusal of a valid key with its cause and its model, and no other request', async () => {
    await harness.complete(hello);
    await harness.complete({ ...hello, model: 'nope' });
    await harness.complete('{');
    await harness.complete(hello, { headers: { authorization: 'Bearer ti_wrong' } });
    await harness.complete(hello, { headers: { authorization: '' } });
    harness.limiterServer.answers.countRequest = () => ({
      admission: rateLimited('CAUSE_ORG_REQUESTS_PER_MINUTE') as AdmissionOutcome,
    });
    await fetch(`${harness.url}/models`, { headers: { authorization: `Bearer ${harness.apiKey}` } });
    admission(rateLimited('CAUSE_KEY_REQUESTS_AT_ONCE'));
    for (let i = 0; i < 2; i++) await harness.complete(hello);
    const [model] = harness.gateway.catalog.published(harness.orgId);
    const none = { keyId: 'key_0', modelId: '', refusals: 1 };
    expect(await recorded()).toMatchObject([
      { ...none, orgId: harness.orgId, code: 'model_not_found', cause: '' },
      { ...none, code: 'invalid_json', cause: '' },
      { ...none, code: 'rate_limit_exceeded', cause: 'org_requests_per_minute' },
      { ...none, modelId: model?.modelId, cause: 'key_requests_at_once', refusals: 2 },
    ]);
  });

  it('has no request that was counted, even if its answer is an error', async () => {
    modelStatus = 418;
    expect((await harness.complete(hello)).status).toBeGreaterThan(399);
    expect(await recorded()).toEqual([]);
  });
});

describe('an answer that no limit refused', () => {
  it('has no cause', async () => {
    expect((await harness.complete({ ...hello, model: 'nope' })).status).toBe(404);
    await eventually(() => harness.logged.some((line) => line.includes('"msg":"request"')));
    expect(harness.logged.join('')).not.toContain('"cause"');
  });
});
