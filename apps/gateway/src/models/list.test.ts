import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { admitted } from '../testing/fake-limiter.ts';
import { type Harness, startHarness } from '../testing/harness.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const list = (apiKey = harness.apiKey) =>
  fetch(`${harness.url}/models`, { headers: { authorization: `Bearer ${apiKey}` } });

describe('the model list', () => {
  it('has every published model that the key may call, including stopped ones, in the order of publication [list.created]', async () => {
    const later = await harness.publish({
      name: 'a-later',
      publishedAtMs: 1_800_000_000_000,
      condition: 'CONDITION_STOPPED',
    });
    await harness.publish({ name: 'foreign', orgId: 'org_somebodyelse' });
    const response = await list();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      object: 'list',
      data: [
        { id: 'text', object: 'model', created: 1_700_000_000, owned_by: 'organization' },
        { id: 'a-later', object: 'model', created: 1_800_000_000, owned_by: 'organization' },
      ],
    });
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('60');
    const one = await list(harness.addKey({ allModels: false, modelIds: [later.modelId] }));
    expect(await one.json()).toMatchObject({ data: [{ id: 'a-later' }] });
    const none = await list(harness.addKey({ allModels: false, modelIds: ['mdl_deleted'] }));
    expect(await none.json()).toEqual({ object: 'list', data: [] });
  });

  it('counts toward the requests a minute', async () => {
    const { answers } = harness.limiterServer;
    answers.countRequest = () => ({
      admission: { rateLimited: { cause: 'CAUSE_KEY_REQUESTS_PER_MINUTE', retryAfterMs: 30_500, limit: 5 } },
    });
    const response = await list();
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('31');
    expect(await response.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    answers.countRequest = () => ({ admission: admitted });
  });

  it('is refused without a valid key', async () => {
    for (const authorization of [
      '',
      'Bearer',
      `Basic ${harness.apiKey}`,
      `Bearer ${harness.apiKey}x`,
      harness.apiKey,
    ]) {
      const response = await fetch(`${harness.url}/models`, { headers: { authorization } });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({
        error: { code: 'invalid_api_key', type: 'authentication_error' },
      });
    }
    const response = await fetch(`${harness.url}/models`, {
      headers: { authorization: `bEARER ${harness.apiKey}` },
    });
    expect(response.status).toBe(200);
  });
});
