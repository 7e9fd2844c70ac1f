import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { controlOf, must, OPERATOR } from '../support/control.ts';
import { type Answer, type Call, call, MODELS } from '../support/http.ts';
import { ask, newKey, newOrg, publish } from '../support/org.ts';
import { useSharedStack } from '../support/stack.ts';

const stack = useSharedStack();
const MIB = 1024 * 1024;
const CONTEXT = 1000;
const PIXEL = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const NO_IMAGE = 'data:image/png;base64,AAAA';
const UNREACHABLE = 'https://127.0.0.1/picture.png';
let standin: Standin;
/** Its plan does not allow images. */
let org: string;
let key: string;
const base = () => stack().info.gateway;

const picture = (model: string, url = PIXEL, text = '') => ({
  model,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url } },
        { type: 'text', text },
      ],
    },
  ],
});

async function send(body: Call['body'], more: Call = {}): Promise<Answer> {
  return call(base(), { key, body, ...more });
}

/** Publishes two models that run and two that are stopped. */
async function publishAll(slug: string): Promise<void> {
  const all = [
    ['tide', 'text'],
    ['eyes', 'vision'],
    ['stopped', 'text'],
    ['shut', 'vision'],
  ] as const;
  await Promise.all(
    all.map(([name, kind]) => publish(stack(), slug, standin.url, { name, kind, context: CONTEXT })),
  );
  for (const name of ['stopped', 'shut'])
    must(await controlOf(stack()).stopModel(OPERATOR, { org: slug, name }));
}

/**
 * Waits until the gateway knows that the model is running: a request gets past the check of its
 * condition.
 */
const running = (callKey: string, model: string) =>
  eventually(async () => {
    const { status } = await call(base(), { key: callKey, body: ask(model, 'Hi') });
    return status === 200 || status === 429;
  });

/** Waits until the gateway knows which models run and which are stopped. */
async function settled(callKey: string): Promise<void> {
  for (const model of ['tide', 'eyes']) await running(callKey, model);
  for (const model of ['stopped', 'shut'])
    await eventually(
      async () => (await call(base(), { key: callKey, body: ask(model, 'Hi') })).code === 'model_unavailable',
    );
}

beforeAll(async () => {
  standin = await startStandin({ names: ['tide', 'eyes', 'stopped', 'shut'], contextTokens: CONTEXT });
  org = await newOrg(stack());
  await publishAll(org);
  key = (await newKey(stack(), org)).key;
  await settled(key);
});
afterAll(() => standin?.close());

describe('of several faults the first in this order is reported:', () => {
  const wrong = { authorization: 'Bearer wrong' };
  const filler = 'x'.repeat(2 * MIB);
  it.each([
    ['the path before the key', 'not_found', () => send('{', { target: '/v1/nothing', headers: wrong })],
    ['the method before the key', 'method_not_allowed', () => send('{', { method: 'PUT', headers: wrong })],
    [
      'the key before the size',
      'invalid_api_key',
      () => send('{', { headers: { ...wrong, 'content-length': String(21 * MIB) } }),
    ],
    [
      'the size of 20 MiB before JSON',
      'request_too_large',
      () => send('{', { headers: { 'content-length': String(20 * MIB + 1) } }),
    ],
    ['JSON before the fields', 'invalid_json', () => send('{"tools":[],"model":5')],
    ['unsupported fields before wrong ones', 'unsupported_parameter', () => send({ n: 2, tools: [] })],
    ['JSON before the size of 2 MiB', 'invalid_json', () => send(`{"a":"${filler}"`)],
    [
      'fields before the size of 2 MiB',
      'unsupported_parameter',
      () => send({ ...ask('tide', filler), tools: [] }),
    ],
    ['fields before the model', 'invalid_request', () => send(ask('nothing', 'x', { n: 2 }))],
    ['the model before the size of 2 MiB', 'model_not_found', () => send(ask('nothing', filler))],
    ['an invalid image before the model', 'invalid_request', () => send(picture('nothing', 'data:,x'))],
    ['the size before the kind', 'request_too_large', () => send(picture('tide', PIXEL, filler))],
    ['the kind before the plan', 'model_text_only', () => send(picture('tide'))],
    ['the kind before the condition', 'model_text_only', () => send(picture('stopped'))],
    ['the plan before the condition', 'plan_upgrade_required', () => send(picture('shut'))],
    ['the kind before the bytes of an image', 'model_text_only', () => send(picture('tide', NO_IMAGE))],
    ['the plan before the bytes of an image', 'plan_upgrade_required', () => send(picture('eyes', NO_IMAGE))],
    ['the plan before the link', 'plan_upgrade_required', () => send(picture('eyes', UNREACHABLE))],
    [
      'the plan before the context',
      'plan_upgrade_required',
      () => send({ ...picture('eyes'), max_tokens: CONTEXT + 1 }),
    ],
    [
      'the context before the condition',
      'model_refused',
      () => send(ask('stopped', 'x', { max_tokens: CONTEXT + 1 })),
    ],
    ['the condition last', 'model_unavailable', () => send(ask('stopped', 'x'))],
  ])('%s', async (_name, code, request) => {
    expect((await request()).code).toBe(code);
  });

  describe('in an organization whose tokens of the month are used up', () => {
    const ofPoor = (poorKey: string, body: Call['body']) => call(base(), { key: poorKey, body });
    let poor: string;
    let free: string;

    beforeAll(async () => {
      poor = await newOrg(stack(), { images: true, tokensPerMonth: CONTEXT });
      await publishAll(poor);
      free = (await newKey(stack(), poor)).key;
      await running(free, 'tide');
      // An answer without usage uses up the month, if the request before has not done so.
      await eventually(
        async () => (await ofPoor(free, ask('tide', '[[no-usage]]'))).code === 'quota_exceeded',
      );
      await settled(free);
    });

    it('the condition before the requests a minute, those before the quota, the quota before the link [plan.reservation.first]', async () => {
      expect(await ofPoor(free, picture('eyes'))).toMatchObject({ code: 'quota_exceeded' });
      expect(await ofPoor(free, picture('eyes', UNREACHABLE))).toMatchObject({ code: 'quota_exceeded' });
      const { key: spent } = await newKey(stack(), poor, { rpm: 1 });
      expect((await call(base(), { key: spent, method: 'GET', target: MODELS })).status).toBe(200);
      for (const body of [picture('eyes', UNREACHABLE), picture('eyes'), ask('tide', 'x')]) {
        expect(await ofPoor(spent, body)).toMatchObject({ code: 'rate_limit_exceeded' });
      }
      expect(await ofPoor(spent, ask('stopped', 'x'))).toMatchObject({ code: 'model_unavailable' });
      expect(await ofPoor(spent, ask('tide', 'x', { n: 2 }))).toMatchObject({ code: 'invalid_request' });
    });

    it('no refusal before the reservation, whatever the reason, takes the one request a minute of a key [errors.refused-untouched]', async () => {
      const { key: once } = await newKey(stack(), poor, { rpm: 1 });
      for (const [body, code] of [
        ['{', 'invalid_json'],
        [ask('tide', 'x', { n: 2 }), 'invalid_request'],
        [ask('nothing', 'x'), 'model_not_found'],
        [picture('tide'), 'model_text_only'],
        [ask('stopped', 'x'), 'model_unavailable'],
        [ask('tide', 'x'), 'quota_exceeded'],
        [picture('eyes'), 'quota_exceeded'],
        [picture('eyes', UNREACHABLE), 'quota_exceeded'],
      ] as const) {
        expect(await ofPoor(once, body)).toMatchObject({ code });
      }
      const listed = await call(base(), { key: once, method: 'GET', target: MODELS });
      expect(listed.headers['x-ratelimit-remaining-requests']).toBe('0');
      expect(await ofPoor(once, ask('tide', 'x'))).toMatchObject({ code: 'rate_limit_exceeded' });
    });
  });
});

describe('the model list', () => {
  const list = async (listKey: string) => {
    const answer = await call(base(), { key: listKey, method: 'GET', target: MODELS });
    return answer.json as { object: string; data: { id: string; created: number }[] };
  };

  it('has exactly its fields, stopped models included [list.created] [list.id] [list.object] [list.owned_by] [list.wrapper] [models.list] [state.model.stopped.listed]', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { data, ...wrapper } = await list(key);
    expect(wrapper).toEqual({ object: 'list' });
    expect(data.map(({ id }) => id).sort()).toEqual(['eyes', 'shut', 'stopped', 'tide']);
    for (const entry of data) {
      expect(entry).toEqual({
        id: entry.id,
        object: 'model',
        created: expect.any(Number),
        owned_by: 'organization',
      });
      expect(Number.isInteger(entry.created)).toBe(true);
      expect(before - entry.created).toBeGreaterThanOrEqual(0);
      expect(before - entry.created).toBeLessThan(600);
    }
  });

  it('of a key for chosen models has just these; the others do not exist for it [auth.list] [auth.restricted] [errors.model_not_found] [models.list] [service.reach]', async () => {
    const chosen = await newKey(stack(), org, { models: ['eyes', 'stopped'] });
    expect((await list(chosen.key)).data.map(({ id }) => id).sort()).toEqual(['eyes', 'stopped']);
    const [hidden, none] = await Promise.all(
      ['tide', 'nope'].map((model) => call(base(), { key: chosen.key, body: ask(model, 'x') })),
    );
    expect(hidden).toMatchObject({ status: 404, code: 'model_not_found' });
    expect(hidden?.text.replaceAll('tide', 'nope')).toBe(none?.text);
    const names = ({ headers }: Answer) => Object.keys(headers).sort();
    expect(names(hidden as Answer)).toEqual(names(none as Answer));
    expect(await call(base(), { key: chosen.key, body: ask('stopped', 'x') })).toMatchObject({
      code: 'model_unavailable',
    });
  });

  it('grows for a key of all models when one is published; a chosen one that is deleted is gone for good [key.may-call.all] [key.tied-to-models]', async () => {
    await publish(stack(), org, standin.url, { name: 'later', context: CONTEXT });
    const chosen = await newKey(stack(), org, { models: ['later'] });
    await eventually(async () => (await list(key)).data.some(({ id }) => id === 'later'));
    expect((await list(chosen.key)).data.map(({ id }) => id)).toEqual(['later']);
    must(await controlOf(stack()).deleteModel(OPERATOR, { org, name: 'later' }));
    await publish(stack(), org, standin.url, { name: 'later', context: CONTEXT });
    await eventually(async () => (await list(key)).data.some(({ id }) => id === 'later'));
    await eventually(async () => (await list(chosen.key)).data.length === 0);
    expect(await call(base(), { key: chosen.key, body: ask('later', 'x') })).toMatchObject({
      code: 'model_not_found',
    });
  });

  it('counts toward the requests a minute of the key and of the organization, and toward no month [cause.org-rpm] [errors.rate_limit_exceeded] [limit.key-rpm] [models.counts] [plan.requests-minute]', async () => {
    const small = await newOrg(stack(), { requestsPerMinute: 3, requestsPerMonth: 1 });
    const [one, two] = [await newKey(stack(), small, { rpm: 2 }), await newKey(stack(), small)];
    const get = (listKey: string) => call(base(), { key: listKey, method: 'GET', target: MODELS });
    const startedAtMs = Date.now();
    expect((await get(one.key)).json).toEqual({ object: 'list', data: [] });
    expect((await get(one.key)).status).toBe(200);
    const overKey = await get(one.key);
    expect(overKey).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect((await get(two.key)).status).toBe(200);
    const overOrg = await get(two.key);
    expect(overOrg).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(overOrg.json).toMatchObject({ error: { type: 'rate_limit_error' } });
    expect(overOrg.message).not.toBe(overKey.message);
    const elapsedS = Math.ceil((Date.now() - startedAtMs) / 1000);
    for (const { headers } of [overKey, overOrg]) {
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(60 - elapsedS);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
    }
  });
});
