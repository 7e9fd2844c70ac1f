import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { isRefusal, newRefusal } from '@tidegate/contracts';
import type { Model, ModelState } from '@tidegate/rpc';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import type { ImageFetcher } from '../images/fetch.ts';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';

const MAX_BYTES = 1024 * 1024;
const answers: UpstreamHandler = (_request, reply) => reply.json(wholeAnswer());

let harness: Harness;
let upstream = answers;
let fetchAll: ImageFetcher['fetchAll'];
beforeAll(async () => {
  harness = await startHarness({
    env: { MAX_BUFFERED_BODY_BYTES: String(MAX_BYTES) },
    images: { fetchAll: (...all) => fetchAll(...all) },
    upstream: (request, reply) => upstream(request, reply),
  });
  originalWake = harness.runner.wake;
});
afterAll(() => harness.stop());
let originalWake: Harness['runner']['wake'];
afterEach(() => {
  upstream = answers;
  harness.runner.wake = originalWake;
  harness.runner.wakes.length = 0;
  harness.limiterServer.calls.length = 0;
});

const limiterCalls = () => harness.limiterServer.requestCalls;
const errorOf = async (response: Response) => {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code, response.headers.get('retry-after')];
};
const asleep = (change: object = {}) =>
  harness.publish({
    mode: 'wake_on_request',
    condition: 'CONDITION_ASLEEP',
    wakeable: true,
    replicas: [],
    ...change,
  });

/** Has the model running, as the runner reports it and answers the wake. */
async function run(modelId: string, change: Partial<Model> = {}): Promise<ModelState> {
  const replicas = [{ replicaId: 'woken', baseUrl: `${harness.model.url}/v1` }];
  harness.runner.update({ modelId, condition: 'CONDITION_RUNNING', replicas, ...change });
  return { modelId, condition: 'CONDITION_RUNNING' };
}

describe('a model that is asleep', () => {
  it('is woken once for all requests, and answers them all once it runs [state.model.asleep]', async () => {
    const { modelId } = await asleep({ name: 'sleeper' });
    let isReady = () => {};
    const ready = new Promise<void>((resolve) => {
      isReady = resolve;
    });
    harness.runner.wake = (id) => ready.then(() => run(id));
    const waiting = Array.from({ length: 20 }, () => harness.complete({ ...hello, model: 'sleeper' }));
    await eventually(
      () => harness.runner.wakes.length === 1 && harness.limiterServer.of('admit').length === 20,
    );
    expect(harness.limiterServer.of('admit').every(({ admit }) => admit?.reserve === false)).toBe(true);
    expect(harness.limiterServer.of('reserve')).toEqual([]);
    await eventually(() =>
      harness.runner.reports.some(({ activity }) => activity.some((a) => a.inFlight === 20)),
    );
    isReady();
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(harness.runner.wakes).toEqual([modelId]);
    expect(harness.limiterServer.of('reserve')).toHaveLength(20);
    expect(harness.limiterServer.of('withdraw')).toEqual([]);
    harness.runner.remove(modelId);
  });

  it('and not ready in time makes the request a 503 with Retry-After that leaves no trace', async () => {
    const short = await startHarness({ env: { COLD_START_MS: '300' } });
    await short.publish({
      name: 'slow',
      mode: 'wake_on_request',
      condition: 'CONDITION_ASLEEP',
      wakeable: true,
      replicas: [],
    });
    short.runner.wake = () => new Promise(() => {});
    const answer = await short.complete({ ...hello, model: 'slow' });
    expect(await errorOf(answer)).toEqual([503, 'model_starting', '15']);
    expect(short.limiterServer.requestCalls).toEqual(['admit', 'withdraw']);
    await short.stop();
  });

  it('and is stopped meanwhile is reported as stopped even before the catalog shows it', async () => {
    const { modelId } = await asleep({ name: 'told-first' });
    harness.runner.wake = async () => ({ modelId, condition: 'CONDITION_STOPPED' });
    const answer = await harness.complete({ ...hello, model: 'told-first' });
    expect(await answer.json()).toMatchObject({
      error: { code: 'model_unavailable', message: 'The model is stopped. An owner can start it.' },
    });
    harness.runner.remove(modelId);
  });

  it('and cannot be started is unavailable', async () => {
    const { modelId } = await asleep({ name: 'broken' });
    harness.runner.wake = async () => ({ modelId, condition: 'CONDITION_FAILED', reason: 'no memory' });
    const response = await harness.complete({ ...hello, model: 'broken' });
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(response.headers.get('x-ratelimit-limit-requests')).toBeNull();
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      error: { code: 'model_unavailable', message: 'The model could not be started.' },
    });
    expect(limiterCalls()).toEqual(['admit', 'withdraw']);
    harness.runner.remove(modelId);
  });

  it('and is deleted meanwhile gets the answer of one that never existed', async () => {
    const body = { ...hello, model: 'dropped' };
    const answerOf = async (response: Response) => [response.status, await response.text()];
    const unknown = await answerOf(await harness.complete(body));
    expect(unknown[0]).toBe(404);
    const { modelId } = await asleep({ name: 'dropped' });
    harness.runner.wake = () => new Promise(() => {});
    const held = harness.complete(body);
    await eventually(() => harness.runner.wakes.length === 1);
    harness.runner.remove(modelId);
    expect(await answerOf(await held)).toEqual(unknown);
    expect(limiterCalls()).toEqual(['admit', 'withdraw']);
  });

  it('and is stopped meanwhile gets the answer of one that was stopped before', async () => {
    const { modelId } = await asleep({ name: 'halted' });
    harness.runner.wake = () => new Promise(() => {});
    const held = harness.complete({ ...hello, model: 'halted' });
    await eventually(() => harness.runner.wakes.length === 1);
    harness.runner.update({ modelId, condition: 'CONDITION_STOPPED' });
    const answers = [await held, await harness.complete({ ...hello, model: 'halted' })];
    for (const answer of answers)
      expect(await answer.json()).toMatchObject({
        error: { code: 'model_unavailable', message: 'The model is stopped. An owner can start it.' },
      });
    expect(limiterCalls()).toEqual(['admit', 'withdraw']);
    harness.runner.remove(modelId);
  });

  it('is not called for a client that hangs up, and the admission is withdrawn', async () => {
    const { modelId } = await asleep({ name: 'left' });
    harness.runner.wake = () => new Promise(() => {});
    const controller = new AbortController();
    const gone = harness
      .complete({ ...hello, model: 'left' }, { signal: controller.signal })
      .catch(() => null);
    await eventually(() => harness.runner.wakes.length === 1);
    controller.abort();
    await gone;
    await eventually(() => limiterCalls().includes('withdraw'));
    expect(limiterCalls()).toEqual(['admit', 'withdraw']);
    harness.runner.remove(modelId);
  });

  it.each([
    ['is shorter', 4_096, 6, true],
    ['is longer', 6, 4_096, false],
  ])(
    'and whose context length %s once it runs is charged by what was reserved before',
    async (_how, before, after, usageValid) => {
      const { modelId } = await asleep({ name: 'resized', contextTokens: before });
      harness.runner.wake = (id) => run(id, { contextTokens: after });
      // The model's answer reports 7 tokens.
      const response = await harness.complete({ ...hello, model: 'resized', max_tokens: 1 });
      expect(response.status).toBe(200);
      expect(harness.limiterServer.of('admit')).toMatchObject([{ admit: { contextTokens: before } }]);
      expect(harness.limiterServer.of('settle')).toMatchObject([{ settle: { usageValid } }]);
      harness.runner.remove(modelId);
    },
  );

  it.each([
    [
      'for a month that another request used up',
      { quotaExceeded: { cause: 'CAUSE_TOKENS', retryAfterMs: 5_000 } },
      [429, 'quota_exceeded', '5'],
    ],
    [
      'for a key revoked meanwhile, which does not count for the address [auth.revoked]',
      { keyInvalid: {} },
      [401, 'invalid_api_key', null],
    ],
  ] as const)(
    'gets no reservation after the wait, %s, and the admission is withdrawn',
    async (_why, admission, expected) => {
      const { modelId } = await asleep({ name: 'spent' });
      harness.runner.wake = run;
      const { reserve } = harness.limiterServer.answers;
      harness.limiterServer.answers.reserve = () => ({ admission });
      expect(await errorOf(await harness.complete({ ...hello, model: 'spent' }))).toEqual(expected);
      expect(limiterCalls()).toEqual(['admit', 'reserve', 'withdraw']);
      harness.limiterServer.answers.reserve = reserve;
      harness.runner.remove(modelId);
    },
  );

  it('refuses a key that proves invalid after the wait, and the next time before anything else', async () => {
    const { modelId } = await asleep({ name: 'revoked' });
    harness.runner.wake = run;
    const headers = { authorization: `Bearer ${harness.addKey()}` };
    const ask = async () => errorOf(await harness.complete({ ...hello, model: 'revoked' }, { headers }));
    const { authenticate, reserve } = harness.limiterServer.answers;
    harness.limiterServer.answers.reserve = () => ({ admission: { keyInvalid: {} } });
    expect(await ask()).toEqual([401, 'invalid_api_key', null]);
    harness.limiterServer.answers.authenticate = () => ({ authenticate: { keyInvalid: {} } });
    harness.limiterServer.calls.length = 0;
    expect(await ask()).toEqual([401, 'invalid_api_key', null]);
    expect(harness.limiterServer.of('authenticate')).toHaveLength(1);
    expect(harness.limiterServer.of('admit')).toEqual([]);
    Object.assign(harness.limiterServer.answers, { authenticate, reserve });
    harness.runner.remove(modelId);
  });

  it('is not woken when the month has been used up, and no image is fetched', async () => {
    const { modelId } = await asleep({ name: 'dear', kind: 'vision' });
    let fetched = 0;
    fetchAll = async () => {
      fetched++;
      return [];
    };
    const { admit } = harness.limiterServer.answers;
    harness.limiterServer.answers.admit = () => ({
      admission: { quotaExceeded: { cause: 'CAUSE_TOKENS', retryAfterMs: 5_000 } },
    });
    const part = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const body = { model: 'dear', messages: [{ role: 'user', content: [part] }] };
    expect(await errorOf(await harness.complete(body))).toEqual([429, 'quota_exceeded', '5']);
    expect([harness.runner.wakes, fetched]).toEqual([[], 0]);
    expect(limiterCalls()).toEqual(['admit']);
    harness.limiterServer.answers.admit = admit;
    harness.runner.remove(modelId);
  });

  it('shares the time of one cold start between its images and its wake [state.model.asleep.late]', async () => {
    const holdMs = 100;
    const short = await startHarness({
      env: { COLD_START_MS: String(holdMs) },
      images: {
        fetchAll: async () => {
          await new Promise((resolve) => setTimeout(resolve, holdMs + 1));
          return [Buffer.from('"data:image/png;base64,AAAA"')];
        },
      },
    });
    await short.publish({
      name: 'eyes',
      kind: 'vision',
      mode: 'wake_on_request',
      condition: 'CONDITION_ASLEEP',
      replicas: [],
    });
    const part = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const body = { model: 'eyes', messages: [{ role: 'user', content: [part] }] };
    expect(await errorOf(await short.complete(body))).toEqual([503, 'model_starting', '15']);
    expect(short.runner.wakes).toEqual([]);
    await short.stop();
  });
});

describe('the condition of a model', () => {
  it.each([
    [{ condition: 'CONDITION_STOPPED' }, [503, 'model_unavailable', null]],
    [{ condition: 'CONDITION_FAILED' }, [503, 'model_unavailable', null]],
    [{ condition: 'CONDITION_STARTING' }, [503, 'model_starting', '30']],
    [{ condition: 'CONDITION_RUNNING' }, [503, 'model_unavailable', null]],
    [{ condition: 'CONDITION_FAILED', mode: 'wake_on_request' }, [503, 'model_unavailable', null]],
  ] as const)('refuses before anything is admitted: %j', async (change, expected) => {
    const { modelId } = await harness.publish({ name: 'down', replicas: [], ...change });
    const response = await harness.complete({ ...hello, model: 'down' });
    expect(response.headers.get('x-should-retry')).toBe(expected[1] === 'model_unavailable' ? 'false' : null);
    expect(await errorOf(response)).toEqual(expected);
    expect(limiterCalls()).toEqual([]);
    harness.runner.remove(modelId);
  });

  it.each([
    ['always_on', 'The model is not available right now.'],
    ['wake_on_request', 'The model could not be started.'],
  ] as const)('that failed and is %s is reported as: %s', async (mode, message) => {
    const change = { condition: 'CONDITION_FAILED', mode } as const;
    const { modelId } = await harness.publish({ name: 'down', replicas: [], ...change });
    const response = await harness.complete({ ...hello, model: 'down' });
    expect(await response.json()).toMatchObject({ error: { message } });
    harness.runner.remove(modelId);
  });

  it('that failed is woken again after its backoff, and one that is starting is waited for', async () => {
    for (const condition of ['CONDITION_FAILED', 'CONDITION_STARTING'] as const) {
      const { modelId } = await asleep({
        name: 'again',
        condition,
        wakeable: condition === 'CONDITION_FAILED',
      });
      harness.runner.wake = run;
      expect((await harness.complete({ ...hello, model: 'again' })).status).toBe(200);
      harness.runner.remove(modelId);
      await eventually(() => !harness.gateway.catalog.get(modelId));
    }
  });
});

describe('linked images', () => {
  const url = 'https://example.com/a.png';
  const withImage = {
    model: 'vision',
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url, detail: 'low' } }] }],
  };

  it('are fetched after the admission and reach the model inline [image.link.taken]', async () => {
    const { modelId } = await harness.publish({ name: 'vision', kind: 'vision' });
    fetchAll = async () => [Buffer.from('"data:image/png;base64,AAAA"')];
    expect((await harness.complete(withImage)).status).toBe(200);
    expect(harness.model.requests.at(-1)?.json().messages[0].content).toEqual([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ]);
    expect(limiterCalls()).toEqual(['admit', 'reserve', 'settle']);
    expect(harness.limiterServer.of('admit')[0]?.admit?.hasImages).toBe(true);
    harness.runner.remove(modelId);
  });

  it.each([
    ['stopped', 503, 'model_unavailable'],
    ['deleted', 404, 'model_not_found'],
    ['restarted', 503, 'model_starting'],
  ] as const)(
    'do not hide that their model is %s meanwhile, and nothing is counted',
    async (what, status, code) => {
      const { modelId } = await harness.publish({ name: 'vision', kind: 'vision' });
      fetchAll = async () => {
        if (what === 'stopped')
          harness.runner.update({ modelId, condition: 'CONDITION_STOPPED', replicas: [] });
        if (what === 'deleted') harness.runner.remove(modelId);
        if (what === 'restarted')
          harness.runner.update({ modelId, condition: 'CONDITION_STARTING', replicas: [] });
        await eventually(() => harness.gateway.catalog.get(modelId)?.condition !== 'CONDITION_RUNNING');
        return [Buffer.from('"data:image/png;base64,AAAA"')];
      };
      const [got, error] = await errorOf(await harness.complete(withImage));
      expect([got, error]).toEqual([status, code]);
      expect(limiterCalls()).toEqual(['admit', 'withdraw']);
      harness.runner.remove(modelId);
    },
  );

  it('are followed by a wake if their model falls asleep meanwhile', async () => {
    const { modelId } = await harness.publish({ name: 'vision', kind: 'vision', mode: 'wake_on_request' });
    fetchAll = async () => {
      harness.runner.update({ modelId, condition: 'CONDITION_ASLEEP', wakeable: true, replicas: [] });
      await eventually(() => harness.gateway.catalog.get(modelId)?.condition === 'CONDITION_ASLEEP');
      return [Buffer.from('"data:image/png;base64,AAAA"')];
    };
    harness.runner.wake = run;
    expect((await harness.complete(withImage)).status).toBe(200);
    expect(harness.runner.wakes).toEqual([modelId]);
    expect(limiterCalls()).toEqual(['admit', 'reserve', 'settle']);
    harness.runner.remove(modelId);
  });

  it('that cannot be fetched get the request refused and leave no trace', async () => {
    const { modelId } = await harness.publish({ name: 'vision', kind: 'vision' });
    fetchAll = async () => newRefusal({ code: 'invalid_request', message: 'no such image' });
    expect(await errorOf(await harness.complete(withImage))).toEqual([400, 'invalid_request', null]);
    expect(limiterCalls()).toEqual(['admit', 'withdraw']);
    harness.runner.remove(modelId);
  });

  it('do not excuse max_tokens beyond the context length, and are not fetched then', async () => {
    const { modelId, contextTokens } = await harness.publish({ name: 'vision', kind: 'vision' });
    const refused = await harness.complete({ ...withImage, max_tokens: Number(contextTokens) + 1 });
    expect(await errorOf(refused)).toEqual([400, 'model_refused', null]);
    expect(limiterCalls()).toEqual([]);
    harness.runner.remove(modelId);
  });

  it('count as memory until the request is over, and get it refused without a trace if they do not fit', async () => {
    const { modelId } = await harness.publish({ name: 'vision', kind: 'vision' });
    const { orgId } = harness;
    const free = () => {
      for (const bytes of [MAX_BYTES / 4, MAX_BYTES / 4 + 1]) {
        const taken = harness.gateway.bodyBudget.take(orgId, bytes);
        if (taken) harness.gateway.bodyBudget.release(orgId, bytes);
        expect([bytes, taken]).toEqual([bytes, bytes === MAX_BYTES / 4]);
      }
    };
    const image = Buffer.alloc(MAX_BYTES / 4 - 1_000, 'x');
    const bringing =
      (...dataUrls: Buffer[]): ImageFetcher['fetchAll'] =>
      async (_links, claim) => {
        const refusals = dataUrls.map(({ length }) => claim(length));
        return refusals.find(isRefusal) ?? dataUrls;
      };
    fetchAll = bringing(Buffer.from('"data:image/png;base64,AAAA"'), image);
    const held: number[] = [];
    upstream = (_request, reply) => {
      held.push(...[...harness.gateway.exchanges].map(({ held }) => held?.bytes ?? 0));
      reply.json(wholeAnswer());
    };
    expect((await harness.complete(withImage)).status).toBe(200);
    expect(held).toEqual([28 + image.length + Buffer.byteLength(JSON.stringify(withImage))]);
    await eventually(() => harness.gateway.exchanges.size === 0);
    free();
    harness.limiterServer.calls.length = 0;
    fetchAll = bringing(image, Buffer.alloc(1_000));
    expect(await errorOf(await harness.complete(withImage))).toEqual([429, 'rate_limit_exceeded', '1']);
    expect(limiterCalls()).toEqual(['admit', 'withdraw']);
    await eventually(() => harness.gateway.exchanges.size === 0);
    free();
    harness.runner.remove(modelId);
  });

  it('are allowed immediately after an upgrade of the plan, whatever was cached', async () => {
    const { modelId } = await harness.publish({ name: 'vision', kind: 'vision' });
    fetchAll = async () => [Buffer.from('"data:image/png;base64,AAAA"')];
    const apiKey = harness.addKey({ imagesAllowed: false });
    const headers = { authorization: `Bearer ${apiKey}` };
    expect(await errorOf(await harness.complete(withImage, { headers }))).toEqual([
      403,
      'plan_upgrade_required',
      null,
    ]);
    for (const principal of harness.limiterServer.principals.values()) principal.imagesAllowed = true;
    expect((await harness.complete(withImage, { headers })).status).toBe(200);
    harness.runner.remove(modelId);
  });
});
