import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ERRORS } from '@tidegate/contracts';
import { eventually, type ReceivedRequest, type UpstreamHandler } from '@tidegate/testing';
import { admitted } from '../testing/fake-limiter.ts';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';

let script: UpstreamHandler;
const answers: UpstreamHandler = (_request, reply) => reply.json(wholeAnswer());
let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({ upstream: (request, reply) => script(request, reply) });
});
afterAll(() => harness.stop());
const originalAnswers = () => ({ ...harness.limiterServer.answers });
let before: ReturnType<typeof originalAnswers> | undefined;
afterEach(() => {
  if (before) Object.assign(harness.limiterServer.answers, before);
  harness.limiterServer.calls.length = 0;
});
const limiterAnswers = (change: Partial<ReturnType<typeof originalAnswers>>) => {
  before ??= originalAnswers();
  Object.assign(harness.limiterServer.answers, change);
};

async function refusalOf(response: Response) {
  const { error } = (await response.json()) as {
    error: { code: keyof typeof ERRORS; type: string; message: string };
  };
  expect(error.type).toBe(ERRORS[error.code].type);
  expect(response.status).toBe(ERRORS[error.code].status);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('x-request-id')).toMatch(/^req_[0-9A-Za-z]{24}$/);
  return {
    code: error.code,
    message: error.message,
    retryAfter: response.headers.get('retry-after'),
    shouldRetry: response.headers.get('x-should-retry'),
  };
}
const settled = () => harness.limiterServer.of('settle').map(({ settle }) => settle);

describe('a whole answer', () => {
  it('has exactly the fields of the contract, and one settlement with its tokens', async () => {
    script = (_request, reply) => reply.json({ ...wholeAnswer('Hello'), system_fingerprint: 'x', kv: 1 });
    const nowS = () => Math.floor(Date.now() / 1_000);
    const beforeS = nowS();
    const response = await harness.complete(hello);
    expect(response.status).toBe(200);
    const id = response.headers.get('x-request-id')?.slice(4);
    const answer = (await response.json()) as { created: number };
    expect(answer.created).toBeGreaterThanOrEqual(beforeS);
    expect(answer.created).toBeLessThanOrEqual(nowS());
    expect(answer).toEqual({
      id: `chatcmpl-${id}`,
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'text',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Hello' }, logprobs: null, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    });
    expect(response.headers.get('x-powered-by')).toBeNull();
    expect(response.headers.get('etag')).toBeNull();
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('60');
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('59');
    expect(response.headers.get('x-ratelimit-reset-requests')).toBe('1m0s');
    // The call that admitted it also reserved it.
    const admits = harness.limiterServer.of('admit').map(({ admit }) => admit);
    expect(admits).toMatchObject([{ admissionId: id, reserve: true, hasImages: false, streamed: false }]);
    expect(settled()).toEqual([
      expect.objectContaining({
        admissionId: id,
        answered: true,
        usageValid: true,
        promptTokens: 5,
        completionTokens: 2,
        errorCode: '',
        firstChunkMs: 0,
      }),
    ]);
  });

  it("sends the caller's request to the model, with the model's own name and key", async () => {
    script = answers;
    const model = await harness.publish({ name: 'keyed', upstreamKey: 'secret', upstreamModel: 'llama' });
    await harness.complete({ ...hello, model: 'keyed', temperature: 1, user: 'u', seed: null });
    const sent = harness.model.requests.at(-1);
    expect(sent?.path).toBe('/v1/chat/completions');
    expect(sent?.headers).toMatchObject({ authorization: 'Bearer secret', 'accept-encoding': 'identity' });
    expect(sent?.json()).toEqual({
      model: 'llama',
      messages: hello.messages,
      max_tokens: 512,
      temperature: 1,
      stream: false,
    });
    harness.runner.remove(model.modelId);
  });

  it('without valid usage has null usage, and is charged in full', async () => {
    for (const usage of [{}, null, { prompt_tokens: 4_000, completion_tokens: 200, total_tokens: 4_200 }]) {
      script = (_request, reply) => reply.json(wholeAnswer('x', usage));
      const response = await harness.complete(hello);
      expect(await response.json()).toMatchObject({ usage: null });
      const id = response.headers.get('x-request-id')?.slice(4);
      // A settlement that is not acknowledged in time is sent again, unchanged.
      const own = settled().filter((sent) => sent?.admissionId === id);
      expect(own.length).toBeGreaterThanOrEqual(1);
      for (const sent of own) expect(sent).toMatchObject({ answered: true, usageValid: false });
    }
  });

  it('waits for its settlement, but not forever', async () => {
    const own = await startHarness({ env: { SETTLE_WAIT_MS: '300' } });
    let acknowledge = () => {};
    own.limiterServer.answers.settle = () =>
      new Promise((resolve) => {
        acknowledge = () => resolve({ settle: {} });
      });
    const late = own.complete(hello);
    await eventually(() => own.limiterServer.of('settle').length > 0);
    expect((await late).status).toBe(200);
    expect(own.limiter.unacknowledged).toBe(1);
    acknowledge();
    await eventually(() => own.limiter.unacknowledged === 0);
    await own.stop();
  });
});

describe('a call to a model', () => {
  it.each<[string, UpstreamHandler, string]>([
    ['answers 500', (_, reply) => reply.json({ error: 'x' }, { status: 500 }), 'upstream_error'],
    ['answers 429', (_, reply) => reply.json({ error: 'x' }, { status: 429 }), 'upstream_error'],
    ['answers no JSON', (_, reply) => reply.json('<html>'), 'upstream_error'],
    ['answers without a choice', (_, reply) => reply.json({ choices: [] }), 'upstream_error'],
    [
      'answers an error with status 200',
      (_, reply) => reply.json({ error: { message: 'x' } }),
      'upstream_error',
    ],
    ['breaks the connection', (_, reply) => reply.reset(), 'upstream_error'],
    [
      'answers more than 2 MiB',
      (_, reply) => reply.json(wholeAnswer('x'.repeat(2 * 1024 * 1024))),
      'upstream_error',
    ],
  ])('that %s makes the request an error with the full charge', async (_name, upstream, code) => {
    script = upstream;
    expect((await refusalOf(await harness.complete(hello))).code).toBe(code);
    expect(settled()).toEqual([
      expect.objectContaining({ answered: false, usageValid: false, errorCode: code }),
    ]);
  });

  it('that refuses with a 4xx quotes the reason to the caller', async () => {
    script = (_request, reply) => reply.json({ error: { message: 'too long' } }, { status: 400 });
    expect(await refusalOf(await harness.complete(hello))).toMatchObject({
      code: 'model_refused',
      message: 'too long',
    });
    expect(settled()).toEqual([expect.objectContaining({ answered: false, errorCode: 'model_refused' })]);
  });

  const quote = { error: { message: 'cannot read {"authorization":"Bearer sk-up"}', code: 400 } };
  it.each<[string, boolean, UpstreamHandler]>([
    ['a 400', false, (_, reply) => reply.json(quote, { status: 400 })],
    ['an error with status 200', false, (_, reply) => reply.json(quote)],
    ['a 400 for a stream', true, (_, reply) => reply.json(quote, { status: 400 })],
    ['an error in a stream', true, (_, reply) => reply.event(quote)],
  ])(
    'that ends in %s is not quoted to the caller if the model quotes its own key',
    async (_, stream, upstream) => {
      script = upstream;
      const { modelId } = await harness.publish({ name: 'keyed', upstreamKey: 'sk-up' });
      expect(await refusalOf(await harness.complete({ ...hello, model: 'keyed', stream }))).toMatchObject({
        code: 'model_refused',
        message: 'The model refused the request and gave no reason.',
      });
      harness.runner.remove(modelId);
    },
  );

  it.each([
    ['refuses connections', () => 'http://127.0.0.1:1/v1'],
    [
      'accepts a connection, but does not speak TLS',
      () => `${harness.model.url.replace('http', 'https')}/v1`,
    ],
    ['has an invalid URL', () => 'not a url'],
  ])('whose server %s is refused as unavailable', async (_how, baseUrl) => {
    const gone = await harness.publish({
      name: 'gone',
      replicas: [{ replicaId: 'gone', baseUrl: baseUrl() }],
    });
    const refusal = await refusalOf(await harness.complete({ ...hello, model: 'gone' }));
    expect(refusal).toMatchObject({ code: 'model_unavailable', shouldRetry: 'false', retryAfter: null });
    expect(settled()).toEqual([expect.objectContaining({ answered: false, errorCode: 'model_unavailable' })]);
    harness.runner.remove(gone.modelId);
  });

  it('that gives no whole answer in time is an upstream error', async () => {
    const env = { WHOLE_ANSWER_TIMEOUT_MS: '300' };
    const own = await startHarness({ env, upstream: (_request, reply) => reply.closed });
    expect((await refusalOf(await own.complete(hello))).code).toBe('upstream_error');
    await own.stop();
  });

  it('that fails on one replica is tried once on another if nothing has been answered yet', async () => {
    script = answers;
    const replicas = [
      { replicaId: 'dead', baseUrl: 'http://127.0.0.1:1/v1' },
      { replicaId: 'live', baseUrl: `${harness.model.url}/v1` },
    ];
    const two = await harness.publish({ name: 'two', replicas });
    for (let i = 0; i < 4; i++) expect((await harness.complete({ ...hello, model: 'two' })).status).toBe(200);
    expect(settled()).toHaveLength(4);
    harness.runner.remove(two.modelId);
  });

  const before = { upstreamKey: 'key-before', upstreamModel: 'name-before' };
  const after = { upstreamKey: 'key-after', upstreamModel: 'name-after' };
  const sentWith = (request: ReceivedRequest) => [
    request.path,
    request.headers.authorization,
    request.json().model,
  ];

  it('that changes while an admission is awaited is made to the model as it is published now', async () => {
    const at = (path: string) => [{ replicaId: path, baseUrl: `${harness.model.url}/${path}` }];
    const sent: unknown[] = [];
    script = (request, reply) => {
      sent.push(sentWith(request));
      reply.json(wholeAnswer());
    };
    const { modelId } = await harness.publish({ name: 'changing', replicas: at('before'), ...before });
    limiterAnswers({
      admit: async () => {
        harness.runner.update({ modelId, replicas: at('after'), ...after });
        await eventually(() => harness.gateway.catalog.get(modelId)?.upstreamKey === after.upstreamKey);
        return { admission: admitted };
      },
    });
    expect((await harness.complete({ ...hello, model: 'changing' })).status).toBe(200);
    expect(sent).toEqual([['/after/chat/completions', 'Bearer key-after', 'name-after']]);
    harness.runner.remove(modelId);
  });

  it('that changes before the second try is made to the model as it is published now', async () => {
    const at = (path: string) => ({ replicaId: path, baseUrl: `${harness.model.url}/${path}` });
    const sent: unknown[] = [];
    script = async (request, reply) => {
      sent.push(sentWith(request));
      if (sent.length > 1) return reply.json(wholeAnswer());
      harness.runner.update({ modelId, replicas: [at('after')], ...after });
      await eventually(() => harness.gateway.catalog.get(modelId)?.upstreamKey === after.upstreamKey);
      reply.reset();
    };
    const replicas = [at('before')];
    const { modelId } = await harness.publish({ name: 'changing', replicas, ...before });
    expect((await harness.complete({ ...hello, model: 'changing' })).status).toBe(200);
    expect(sent).toEqual([
      ['/before/chat/completions', 'Bearer key-before', 'name-before'],
      ['/after/chat/completions', 'Bearer key-after', 'name-after'],
    ]);
    harness.runner.remove(modelId);
  });

  it('that fails on one replica is tried on the other known one, even if the model has lost both since', async () => {
    const at = (path: string) => ({ replicaId: path, baseUrl: `${harness.model.url}/${path}` });
    const sent: string[] = [];
    script = async (request, reply) => {
      sent.push(request.path);
      if (sent.length > 1) return reply.json(wholeAnswer());
      harness.runner.update({ modelId, replicas: [] });
      await eventually(() => harness.gateway.catalog.get(modelId)?.replicas.length === 0);
      reply.reset();
    };
    const { modelId } = await harness.publish({ name: 'leaving', replicas: [at('one'), at('two')] });
    expect((await harness.complete({ ...hello, model: 'leaving' })).status).toBe(200);
    expect(sent.sort()).toEqual(['/one/chat/completions', '/two/chat/completions']);
    harness.runner.remove(modelId);
  });

  const chunk = (content: string, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta: { content }, finish_reason }],
  });
  /** Sends 60 requests for a model with two replicas. Returns how many went to the odd replica. */
  async function callsToOdd(answerOddly: UpstreamHandler, stream: boolean): Promise<number> {
    const called: string[] = [];
    script = async (request, reply) => {
      called.push(request.path);
      if (request.path.startsWith('/odd')) return answerOddly(request, reply);
      if (!request.json().stream) return reply.json(wholeAnswer());
      await reply.event(chunk('Hi', 'stop'));
      await reply.done();
    };
    const replicas = ['odd', 'sound'].map((path) => ({
      replicaId: `half ${path}`,
      baseUrl: `${harness.model.url}/${path}`,
    }));
    const { modelId } = await harness.publish({ name: 'half', replicas });
    for (let i = 0; i < 60; i++)
      await (await harness.complete({ ...hello, model: 'half', stream })).text().catch(() => '');
    harness.runner.remove(modelId);
    // No request is tried a second time.
    expect(called).toHaveLength(60);
    return called.filter((path) => path.startsWith('/odd')).length;
  }

  it.each<[string, UpstreamHandler, boolean]>([
    ['a 500', (_request, reply) => reply.json({ error: { message: 'no memory' } }, { status: 500 }), false],
    ['an answer that cannot be read', (_request, reply) => reply.json({ choices: 'none' }), false],
    [
      'a stream that breaks off',
      async (_request, reply) => {
        await reply.event(chunk('Hi'));
        reply.end();
      },
      true,
    ],
  ])('mostly goes to the other replica if one fails every time, with %s', async (_, fails, stream) => {
    // The odd replica comes back now and then, for one call.
    expect(await callsToOdd(fails, stream)).toBeLessThan(15);
  });

  it.each<[string, UpstreamHandler, boolean]>([
    ['refuses a request', (_request, reply) => reply.json({ error: 'no' }, { status: 400 }), false],
    [
      'sends more than a stream may have',
      async (_request, reply) => {
        await reply.event(chunk('Hi'));
        await reply.event(chunk('x'.repeat(1024 * 1024)));
      },
      true,
    ],
  ])('does not count against a replica that %s, which keeps its share', async (_, answerOddly, stream) => {
    expect(await callsToOdd(answerOddly, stream)).toBe(30);
  });

  it('is made all the same if its only replica fails every time', async () => {
    let calls = 0;
    script = (_request, reply) => {
      if (calls++ < 20) reply.json({}, { status: 500 });
      else reply.json(wholeAnswer());
    };
    const statuses: number[] = [];
    for (let i = 0; i <= 20; i++) statuses.push((await harness.complete(hello)).status);
    expect(statuses).toEqual([...Array(20).fill(502), 200]);
  });

  it('on a replica that is removed meanwhile runs to its end there, and new ones go to the others', async () => {
    const at = (path: string) => [{ replicaId: path, baseUrl: `${harness.model.url}/${path}` }];
    const called: string[] = [];
    let finish = () => {};
    script = (request, reply) => {
      called.push(request.path);
      const end = () => reply.json(wholeAnswer(request.path));
      if (called.length === 1) finish = end;
      else end();
    };
    const ask = () => harness.complete({ ...hello, model: 'moving' });
    const { modelId } = await harness.publish({ name: 'moving', replicas: at('former') });
    const inFlight = ask();
    await eventually(() => called.length === 1);
    harness.runner.update({ modelId, replicas: at('next') });
    await eventually(() => harness.gateway.catalog.get(modelId)?.replicas[0]?.replicaId === 'next');
    expect((await ask()).status).toBe(200);
    finish();
    expect(await (await inFlight).json()).toMatchObject({
      choices: [{ message: { content: '/former/chat/completions' } }],
    });
    expect(called).toEqual(['/former/chat/completions', '/next/chat/completions']);
    harness.runner.remove(modelId);
  });
});

describe('the order of refusals', () => {
  const tooLong = { ...hello, max_tokens: 8_000 };

  it('is that of the contract: each is reached only after the checks before it', async () => {
    script = answers;
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const withImage = { ...hello, max_tokens: 8_000, messages: [{ role: 'user', content: [image] }] };
    const noImages = harness.addKey({ imagesAllowed: false });
    const stopped = await harness.publish({ name: 'stopped', condition: 'CONDITION_STOPPED', replicas: [] });
    const vision = await harness.publish({ name: 'vision', kind: 'vision', condition: 'CONDITION_STOPPED' });
    limiterAnswers({
      admit: () => ({ admission: { rateLimited: { cause: 'CAUSE_KEY_REQUESTS_AT_ONCE', limit: 4 } } }),
    });
    const code = async (body: unknown, init?: RequestInit) =>
      (await refusalOf(await harness.complete(body, init))).code;
    const wrong = { headers: { authorization: 'Bearer nope' } };
    const free = { headers: { authorization: `Bearer ${noImages}` } };

    expect(await code('{', { ...wrong, method: 'PUT' })).toBe('method_not_allowed');
    expect(await code('{', wrong)).toBe('invalid_api_key');
    expect(await code('{"model":"nope",')).toBe('invalid_json');
    expect(await code({ model: 'nope', n: 2, tools: [] })).toBe('unsupported_parameter');
    expect(await code({ ...hello, model: 'nope', n: 2 })).toBe('invalid_request');
    expect(await code({ ...withImage, model: 'nope' })).toBe('model_not_found');
    expect(
      await code({
        ...withImage,
        messages: [...withImage.messages, { role: 'user', content: 'x'.repeat(2_200_000) }],
      }),
    ).toBe('request_too_large');
    expect(await code({ ...withImage, model: 'stopped' }, free)).toBe('model_text_only');
    expect(await code({ ...withImage, model: 'vision' }, free)).toBe('plan_upgrade_required');
    const noImage = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const withNoImage = { ...withImage, messages: [{ role: 'user', content: [noImage] }] };
    expect(await code({ ...withNoImage, model: 'vision' }, free)).toBe('plan_upgrade_required');
    expect(await code({ ...withNoImage, model: 'vision' })).toBe('invalid_request');
    expect(await code({ ...tooLong, model: 'stopped' })).toBe('model_refused');
    expect(await code({ ...hello, model: 'stopped' })).toBe('model_unavailable');
    expect(await code(hello)).toBe('rate_limit_exceeded');
    limiterAnswers({
      admit: () => ({ admission: { quotaExceeded: { cause: 'CAUSE_TOKENS', retryAfterMs: 86_400_000 } } }),
    });
    expect(await code(hello)).toBe('quota_exceeded');
    expect(harness.limiterServer.of('settle')).toEqual([]);
    expect(harness.limiterServer.of('withdraw')).toEqual([]);
    harness.runner.remove(stopped.modelId);
    harness.runner.remove(vision.modelId);
  });

  it('puts the address block first, and 404 and 405 before the key [auth.invalid-keys.block]', async () => {
    const wrong = { authorization: 'Basic x' };
    expect((await fetch(`${harness.url}/nowhere`, { headers: wrong })).status).toBe(404);
    expect((await fetch(`${harness.url}/models`, { method: 'POST', headers: wrong })).status).toBe(405);
    expect(harness.limiterServer.of('reportInvalidKey')).toEqual([]);
    limiterAnswers({ reportInvalidKey: () => ({ reportInvalidKey: { blockedRemainingMs: 3_600_200 } }) });
    const blocked = await refusalOf(await harness.complete(hello, { headers: wrong }));
    expect(blocked).toMatchObject({ code: 'rate_limit_exceeded', retryAfter: '3601' });
    for (const [path, method] of [
      ['/chat/completions', 'POST'],
      ['/chat/completions', 'OPTIONS'],
      ['/models', 'GET'],
      ['/models', 'POST'],
      ['/nowhere', 'DELETE'],
    ] as const) {
      const headers = { authorization: `Bearer ${harness.apiKey}` };
      const now = await refusalOf(await fetch(`${harness.url}${path}`, { method, headers }));
      expect([path, method, now.code]).toEqual([path, method, 'rate_limit_exceeded']);
      expect(Number(now.retryAfter)).toBeGreaterThan(3_000);
    }
    harness.gateway.blocked.block('127.0.0.1', 0);
  });

  it('gives a request without a key a 401 that does not count as an invalid key [auth.missing.uncounted]', async () => {
    const response = await fetch(`${harness.url}/models`);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    const completion = await fetch(`${harness.url}/chat/completions`, { method: 'POST', body: '{' });
    expect((await refusalOf(completion)).code).toBe('invalid_api_key');
    expect(harness.limiterServer.of('reportInvalidKey')).toEqual([]);
    await harness.complete(hello, { headers: { authorization: '' } });
    expect(harness.limiterServer.of('reportInvalidKey')).toHaveLength(1);
  });
});

describe('a refusal of the limiter', () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const withImage = { ...hello, messages: [{ role: 'user', content: [image] }] };
  const asksForItsKeyAgain = async () => {
    harness.limiterServer.calls.length = 0;
    await harness.complete(hello);
    expect(harness.limiterServer.of('authenticate')).toHaveLength(1);
  };

  it.each([
    ['CAUSE_KEY_REQUESTS_PER_MINUTE', 12_001, '13'],
    ['CAUSE_ORG_REQUESTS_PER_MINUTE', 300, '1'],
    ['CAUSE_KEY_REQUESTS_AT_ONCE', 0, '1'],
    ['CAUSE_ORG_REQUESTS_AT_ONCE', 5_000, '1'],
  ] as const)('%s says when to come back', async (cause, retryAfterMs, retryAfter) => {
    limiterAnswers({ admit: () => ({ admission: { rateLimited: { cause, retryAfterMs, limit: 5 } } }) });
    expect(await refusalOf(await harness.complete(hello))).toMatchObject({
      code: 'rate_limit_exceeded',
      retryAfter,
    });
  });

  it('to admit stands without another check of the key, since the limiter has just checked it', async () => {
    script = answers;
    const headers = { authorization: `Bearer ${harness.addKey()}` };
    expect((await harness.complete(hello, { headers })).status).toBe(200);
    const rateLimited = { cause: 'CAUSE_KEY_REQUESTS_PER_MINUTE', retryAfterMs: 1, limit: 5 } as const;
    limiterAnswers({ admit: () => ({ admission: { rateLimited } }) });
    harness.limiterServer.calls.length = 0;
    expect((await harness.complete(hello, { headers })).status).toBe(429);
    expect(harness.limiterServer.of('authenticate')).toEqual([]);
  });

  it('for the month tells official clients not to retry', async () => {
    limiterAnswers({
      admit: () => ({ admission: { quotaExceeded: { cause: 'CAUSE_REQUESTS', retryAfterMs: 864_000_000 } } }),
    });
    expect(await refusalOf(await harness.complete(hello))).toMatchObject({
      code: 'quota_exceeded',
      retryAfter: '864000',
      shouldRetry: 'false',
    });
  });

  it('of a key revoked since it was cached is a 401, counted for the address', async () => {
    limiterAnswers({ admit: () => ({ admission: { keyInvalid: {} } }) });
    expect((await refusalOf(await harness.complete(hello))).code).toBe('invalid_api_key');
    expect(harness.limiterServer.of('reportInvalidKey')).toHaveLength(1);
    await asksForItsKeyAgain();
  });

  it.each([
    ['no JSON', '{', 'invalid_json'],
    ['a wrong value', { ...hello, n: 2 }, 'invalid_request'],
    ['an unknown model', { ...hello, model: 'nope' }, 'model_not_found'],
    ['too many tokens', { ...hello, max_tokens: 8_000 }, 'model_refused'],
    ['an image without the plan for it', { ...withImage, model: 'seeing' }, 'plan_upgrade_required'],
  ] as const)(
    'for a key revoked since it was cached comes before anything else that is wrong: %s [state.key.revoked.next]',
    async (_, body, code) => {
      const { modelId } = await harness.publish({ name: 'seeing', kind: 'vision' });
      const authorization = `Bearer ${harness.addKey({ imagesAllowed: false })}`;
      const answer = async () =>
        (await refusalOf(await harness.complete(body, { headers: { authorization } }))).code;
      expect(await answer()).toBe(code);
      limiterAnswers({ authenticate: () => ({ authenticate: { keyInvalid: {} } }) });
      expect(await answer()).toBe('invalid_api_key');
      expect(harness.limiterServer.of('reportInvalidKey')).toHaveLength(1);
      expect(harness.limiterServer.of('admit')).toEqual([]);
      harness.runner.remove(modelId);
    },
  );

  it.each([
    ['are valid', JSON.stringify(hello)],
    ['are not JSON', `{${' '.repeat(100)}`],
    ['name an unknown model', JSON.stringify({ ...hello, model: 'nope' })],
  ])(
    'for a key revoked while bodies were on their way counts against none of them, but against its next request: they %s [auth.invalid-keys]',
    async (_, body) => {
      const apiKey = harness.addKey();
      const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${apiKey}\r\n`;
      await harness.complete(hello, { headers: { authorization: `Bearer ${apiKey}` } });
      const sockets = Array.from({ length: 25 }, () => connect(harness.server.port, '127.0.0.1'));
      const received = sockets.map(async (socket) => (await socket.setEncoding('utf8').toArray()).join(''));
      for (const socket of sockets) socket.write(`${head}content-length: ${body.length}\r\n\r\n{`);
      await eventually(() => harness.gateway.exchanges.size === sockets.length);
      limiterAnswers({
        admit: () => ({ admission: { keyInvalid: {} } }),
        authenticate: () => ({ authenticate: { keyInvalid: {} } }),
      });
      for (const socket of sockets) socket.write(body.slice(1));
      for (const answer of await Promise.all(received)) expect(answer).toMatch(/^HTTP\/1.1 401 /);
      expect(harness.limiterServer.of('reportInvalidKey')).toEqual([]);
      await harness.complete(hello, { headers: { authorization: `Bearer ${apiKey}` } });
      expect(harness.limiterServer.of('reportInvalidKey')).toHaveLength(1);
    },
  );

  it('for a key revoked just after its check counts against no request that had already arrived', async () => {
    const headers = { authorization: `Bearer ${harness.addKey()}` };
    limiterAnswers({ admit: () => ({ admission: { keyInvalid: {} } }) });
    expect((await refusalOf(await harness.complete(hello, { headers }))).code).toBe('invalid_api_key');
    expect(harness.limiterServer.of('authenticate')).toHaveLength(1);
    expect(harness.limiterServer.of('reportInvalidKey')).toEqual([]);
  });

  it('of images by a plan that has changed since it was cached is a 403, and drops the cached principal', async () => {
    limiterAnswers({ admit: () => ({ admission: { planUpgradeRequired: {} } }) });
    expect((await refusalOf(await harness.complete(hello))).code).toBe('plan_upgrade_required');
    await asksForItsKeyAgain();
  });

  it('because it cannot decide is a 500, and the admission is withdrawn', async () => {
    limiterAnswers({ admit: () => ({ failed: { reason: 'Redis is unavailable' } }) });
    expect((await refusalOf(await harness.complete(hello))).code).toBe('internal_error');
    await eventually(() => harness.limiterServer.of('withdraw').length === 1);
    const [admit] = harness.limiterServer.of('admit');
    expect(harness.limiterServer.of('withdraw')[0]?.withdraw?.admissionId).toBe(admit?.admit?.admissionId);
  });
});

describe('a request over 2 MiB', () => {
  const large = { ...hello, model: 'vision', messages: [{ role: 'user', content: 'x'.repeat(2_200_000) }] };

  it("holds one of its organization's slots until it is settled, and frees it before the answer", async () => {
    script = answers;
    const vision = await harness.publish({ name: 'vision', kind: 'vision' });
    expect((await harness.complete(large)).status).toBe(200);
    const { requestCalls } = harness.limiterServer;
    expect(requestCalls).toEqual(['takeLargeBody', 'admit', 'settle', 'releaseLargeBody']);
    harness.runner.remove(vision.modelId);
  });

  it('is reported to the parser, like a smaller one, only if it is valid and refused before it is counted', async () => {
    const refused = jest.spyOn(harness.gateway.parser, 'refused');
    try {
      await harness.complete(hello);
      expect(refused).not.toHaveBeenCalled();
      await harness.complete({ ...hello, model: 'nobody' });
      expect(refused).toHaveBeenCalledTimes(1);
      const [[request, orgId] = []] = refused.mock.calls;
      expect([request?.model, orgId]).toEqual(['nobody', harness.orgId]);
      await harness.complete({ ...hello, n: 2 });
      expect(refused).toHaveBeenCalledTimes(1);
    } finally {
      refused.mockRestore();
    }
  });

  it('is refused while both slots are taken, and frees its slot if it is refused later', async () => {
    expect((await refusalOf(await harness.complete(large))).code).toBe('model_not_found');
    expect(harness.limiterServer.of('releaseLargeBody')).toHaveLength(1);
    limiterAnswers({ takeLargeBody: () => ({ takeLargeBody: { result: 'RESULT_FULL' } }) });
    expect(await refusalOf(await harness.complete(large))).toMatchObject({
      code: 'rate_limit_exceeded',
      retryAfter: '1',
    });
    expect(harness.limiterServer.of('releaseLargeBody')).toHaveLength(1);
  });

  it('past 20 MiB is refused before it is read', async () => {
    const body = `{"model":"${'x'.repeat(20 * 1024 * 1024)}"}`;
    expect((await refusalOf(await harness.complete(body))).code).toBe('request_too_large');
  });
});

describe('more tokens than the model has context for', () => {
  it('are refused, but not as many as it has', async () => {
    script = answers;
    const { modelId } = await harness.publish({ name: 'short', contextTokens: 100 });
    const ask = async (max_tokens: number) =>
      (await harness.complete({ ...hello, model: 'short', max_tokens })).status;
    expect([await ask(100), await ask(101)]).toEqual([200, 400]);
    harness.runner.remove(modelId);
  });

  it.each([
    [{}, 'max_tokens defaults to 512, but the context length of the model is 100 tokens.'],
    [{ max_tokens: 101 }, 'max_tokens is 101, but the context length of the model is 100 tokens.'],
    [
      { max_tokens: 5, max_completion_tokens: 300 },
      'max_completion_tokens is 300, but the context length of the model is 100 tokens.',
    ],
  ])('are refused under the field name that the request used: %j', async (members, message) => {
    const { modelId } = await harness.publish({ name: 'short', contextTokens: 100 });
    const refusal = await refusalOf(await harness.complete({ ...hello, model: 'short', ...members }));
    expect(refusal).toMatchObject({ code: 'model_refused', message });
    harness.runner.remove(modelId);
  });
});

describe('an API at capacity', () => {
  it('says so instead of filling its memory or exceeding its requests in flight [cause.busy]', async () => {
    const own = await startHarness({
      upstream: (_request, reply) => reply.closed,
      env: { MAX_REQUESTS_IN_FLIGHT: '1', MAX_BUFFERED_BODY_BYTES: '10000' },
    });
    const busy = { code: 'rate_limit_exceeded', message: 'The API is at capacity.', retryAfter: '1' };
    const big = { ...hello, messages: [{ role: 'user', content: 'x'.repeat(10_000) }] };
    for (let i = 0; i < 3; i++) expect(await refusalOf(await own.complete(big))).toMatchObject(busy);
    const controller = new AbortController();
    const first = own.complete(hello, { signal: controller.signal }).catch(() => null);
    await eventually(() => own.model.inFlight === 1);
    expect(await refusalOf(await own.complete(hello))).toMatchObject(busy);
    controller.abort();
    await first;
    expect(own.limiterServer.of('admit')).toHaveLength(1);
    await own.stop();
  });
});

describe('a client that hangs up', () => {
  it("ends the model's work immediately and is charged in full", async () => {
    let modelLeft = false;
    script = async (_request, reply) => {
      await reply.closed;
      modelLeft = true;
    };
    const controller = new AbortController();
    const gone = harness.complete(hello, { signal: controller.signal }).catch(() => null);
    await eventually(() => harness.model.inFlight === 1);
    controller.abort();
    await gone;
    await eventually(() => modelLeft && settled().length === 1);
    expect(settled()).toEqual([
      expect.objectContaining({ answered: false, usageValid: false, errorCode: 'client_closed' }),
    ]);
  });
});

describe('a client that hangs up with several requests on its connection', () => {
  it('ends all of them, even those whose turn to be answered has not come', async () => {
    script = (_request, reply) => reply.closed;
    const before = settled().length;
    const body = JSON.stringify(hello);
    const socket = connect(harness.server.port, '127.0.0.1');
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${harness.apiKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`.repeat(
        3,
      ),
    );
    await eventually(() => harness.model.inFlight === 3);
    socket.destroy();
    await eventually(() => harness.model.inFlight === 0 && harness.gateway.exchanges.size === 0);
    await eventually(() => settled().length === before + 3);
  });
});

describe('the log', () => {
  it('has one line for each request, without its content or its key [image.not-stored] [metered.counts-only] [service.counts-only]', async () => {
    script = answers;
    harness.logged.length = 0;
    const response = await harness.complete({
      ...hello,
      messages: [{ role: 'user', content: 'my secret words' }],
    });
    await response.text();
    const id = response.headers.get('x-request-id') ?? '';
    await eventually(() => harness.logged.some((line) => line.includes(id)));
    const lines = harness.logged.filter((line) => line.includes(id));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      status: 200,
      route: 'chat_completions',
      orgId: harness.orgId,
    });
    expect(harness.logged.join()).not.toMatch(/secret words|Hello|ti_/);
  });

  it('names the model, and says whether a stream was asked for, even for a request that is refused', async () => {
    const model = await harness.publish({ name: 'small', contextTokens: 10 });
    for (const stream of [true, false]) {
      const response = await harness.complete({ ...hello, model: 'small', stream, max_tokens: 11 });
      expect((await refusalOf(response)).code).toBe('model_refused');
      const id = response.headers.get('x-request-id') ?? '';
      const line = await eventually(() => harness.logged.find((text) => text.includes(id)));
      expect(JSON.parse(line ?? '')).toMatchObject({ modelId: model.modelId, streamed: stream });
    }
    harness.runner.remove(model.modelId);
  });
});
