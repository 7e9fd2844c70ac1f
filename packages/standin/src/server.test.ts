import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Standin, type StandinOptions, startStandin } from './server.ts';

interface Chunk {
  readonly id: string;
  readonly model: string;
  readonly choices: readonly {
    readonly delta: Record<string, unknown>;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: Record<string, number>;
}

const open: Standin[] = [];
const start = async (options?: StandinOptions): Promise<Standin> => {
  const standin = await startStandin(options);
  open.push(standin);
  return standin;
};

afterEach(async () => {
  for (const standin of open.splice(0)) await standin.close();
});

const body = (content: unknown, more: object = {}): string =>
  JSON.stringify({ model: 'standin', messages: [{ role: 'user', content }], ...more });
const ask = (
  standin: Standin,
  content: unknown,
  more: object = {},
  init: RequestInit = {},
): Promise<Response> =>
  fetch(`${standin.url}/v1/chat/completions`, { method: 'POST', body: body(content, more), ...init });
// biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of any shape
const json = async (response: Response | Promise<Response>): Promise<any> => (await response).json();

const stream = (standin: Standin, content: unknown, more: object = {}, init: RequestInit = {}) =>
  ask(standin, content, { stream: true, stream_options: { include_usage: true }, ...more }, init);
const dataOf = (text: string): string[] =>
  text
    .split(/\r?\n\r?\n/)
    .filter((event) => event.includes('data: '))
    .map((event) => event.slice(event.indexOf('data: ') + 6));
async function chunksOf(response: Response | Promise<Response>): Promise<Chunk[]> {
  const data = dataOf(await (await response).text());
  expect(data.pop()).toBe('[DONE]');
  return data.map((line) => JSON.parse(line));
}
const textOf = (chunks: readonly Chunk[]): string =>
  chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');

async function until(probe: () => boolean): Promise<void> {
  for (let tries = 0; !probe(); tries++) {
    if (tries === 2_000) throw new Error('it never came to be');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a whole answer', () => {
  it('says that it comes from a stand-in, and counts its tokens', async () => {
    const answer = await json(ask(await start(), 'Hello there'));
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      model: 'standin',
      choices: [{ index: 0, message: { role: 'assistant' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 9 },
    });
    expect(answer.choices[0].message.content).toContain('a stand-in and not a model');
    expect(answer.usage.total_tokens).toBe(answer.usage.prompt_tokens + answer.usage.completion_tokens);
  });

  it('is the same for the same request', async () => {
    const standin = await start();
    const contents = await Promise.all(
      [1, 2].map(
        async () => (await json(ask(standin, 'Hi [[tokens=80]]', { seed: 7, temperature: 2 }))).choices,
      ),
    );
    expect(contents[0]).toEqual(contents[1]);
  });

  it('ends at max_tokens, the newer name winning, with finish_reason length', async () => {
    const answer = await json(ask(await start(), 'Hi', { max_tokens: 50, max_completion_tokens: 3 }));
    expect(answer.choices[0].finish_reason).toBe('length');
    expect(answer.usage.completion_tokens).toBe(3);
  });

  it('ends before the stop string that comes first', async () => {
    const answer = await json(ask(await start(), 'Hi', { stop: ['not a', 'stand-in'] }));
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: 'stand-in' });
    expect(answer.choices[0].message.content).toBe('This is standin, a ');
  });
});

describe('a streamed answer', () => {
  it('is the whole answer in pieces: role first, one id, usage if asked for, [DONE]', async () => {
    const standin = await start();
    const whole = await json(ask(standin, 'Hi'));
    const chunks = await chunksOf(stream(standin, 'Hi'));
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(textOf(chunks)).toBe(whole.choices[0].message.content);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  });

  it('reports no usage unless asked', async () => {
    const chunks = await chunksOf(stream(await start(), 'Hi', { stream_options: undefined }));
    expect(chunks.some(({ usage }) => usage)).toBe(false);
  });

  it('is sent while it is produced: the first chunk can be read before the rest is written', async () => {
    const response = await stream(await start(), '[[stall]]');
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    expect(first).toContain('"role":"assistant"');
    await reader?.cancel();
  });

  it('waits for a slow reader and loses nothing', async () => {
    const standin = await start();
    const response = await stream(standin, '[[bytes=20000000]]');
    expect(standin.stats().inFlight).toBe(1);
    expect(textOf(await chunksOf(response)).length).toBe(20_000_000);
  });
});

describe('an answer that is held', () => {
  it('comes once it is released: whole, or streamed after its first chunk', async () => {
    const standin = await start();
    const whole = ask(standin, '[[held]]');
    const streamed = await stream(standin, '[[held]] [[say=Released]]');
    const reader = (streamed.body as ReadableStream<Uint8Array>).getReader();
    const first = Buffer.from((await reader.read()).value as Uint8Array).toString();
    expect(first).toContain('"role":"assistant"');
    expect(first).not.toContain('Released');
    await until(() => standin.stats().held === 2);
    await fetch(`${standin.url}/release`, { method: 'POST' });
    expect((await whole).status).toBe(200);
    const rest = Buffer.from((await reader.read()).value as Uint8Array).toString();
    expect(rest).toContain('Released');
    expect(standin.stats()).toMatchObject({ answered: 2, aborted: 0, held: 0 });
  });
});

describe('the context length', () => {
  it('refuses prompt plus max_tokens beyond it, and takes what just fits', async () => {
    const standin = await start({ contextTokens: 100 });
    const { usage } = await json(ask(standin, 'Hi', { max_tokens: 1 }));
    const left = 100 - usage.prompt_tokens;
    expect((await ask(standin, 'Hi', { max_tokens: left })).status).toBe(200);
    const refused = await ask(standin, 'Hi', { max_tokens: left + 1 });
    expect(refused.status).toBe(400);
    expect(await json(refused)).toMatchObject({
      error: { message: expect.stringContaining('100 tokens'), code: 400 },
    });
  });

  it.each([
    ['context', 400],
    ['context-flat', 400],
    ['context-llamacpp', 400],
    ['context-tgi', 422],
    ['context-ollama', 400],
    ['context-text', 400],
  ])('has a refusal in the words of %s', async (dialect, status) => {
    const response = await ask(await start(), `[[error=${dialect}]]`);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain('maximum context length');
  });
});

describe('a stand-in', () => {
  it('lists its names, and knows no others', async () => {
    const standin = await start({ names: ['a', 'b'], contextTokens: 4_096 });
    const { data } = await json(fetch(`${standin.url}/v1/models`));
    expect(data).toMatchObject([
      { id: 'a', max_model_len: 4_096 },
      { id: 'b', max_model_len: 4_096 },
    ]);
    expect((await ask(standin, 'Hi', { model: 'c' })).status).toBe(404);
    expect((await ask(standin, 'Hi', { model: 'b' })).status).toBe(200);
  });

  it('requires its key', async () => {
    const standin = await start({ key: 's3cret' });
    expect((await ask(standin, 'Hi')).status).toBe(401);
    expect((await ask(standin, 'Hi', {}, { headers: { authorization: 'Bearer s3cret' } })).status).toBe(200);
    expect((await fetch(`${standin.url}/health`)).status).toBe(200);
  });

  it('is not healthy before its startup time is over', async () => {
    const late = await start({ startupMs: 3_600_000 });
    expect((await fetch(`${late.url}/health`)).status).toBe(503);
    expect((await ask(late, 'Hi')).status).toBe(503);
    const soon = await start({ startupMs: 1 });
    let status = 503;
    for (let tries = 0; tries < 1_000 && status !== 200; tries++) {
      status = (await fetch(`${soon.url}/health`)).status;
    }
    expect((await ask(soon, 'Hi')).status).toBe(200);
  });

  it.each([
    ['GET', '/v1/chat/completions', 404],
    ['GET', '/other', 404],
    ['POST', '/v1/chat/completions', 400],
  ])('answers %s %s without a body with %d', async (method, path, status) => {
    expect((await fetch((await start()).url + path, { method })).status).toBe(status);
  });
});

describe('a running stand-in', () => {
  it('counts calls, the most at once, and tokens by model, and shows the form of the newest request without its content', async () => {
    const standin = await start();
    const asked = [1, 2, 3].map(() => json(ask(standin, 'Hi [[held]]', { user: 'u' })));
    await until(() => standin.stats().held === 3);
    standin.release();
    const answers = await Promise.all(asked);
    const stats = await json(fetch(`${standin.url}/stats`));
    expect(stats).toMatchObject({ calls: 3, answered: 3, inFlight: 0, maxInFlight: 3, aborted: 0 });
    expect(stats.models.standin).toEqual({
      calls: 3,
      promptTokens: 3 * answers[0].usage.prompt_tokens,
      completionTokens: 3 * answers[0].usage.completion_tokens,
    });
    expect(stats.lastRequest).toMatchObject({ members: ['model', 'messages', 'user'], stream: false });
    expect(JSON.stringify(stats)).not.toContain('Hi');
    await fetch(`${standin.url}/stats/reset`, { method: 'POST' });
    expect(standin.stats()).toMatchObject({ calls: 0, maxInFlight: 0, models: {}, lastRequest: null });
  });

  it('never counts two calls at once for a caller who waits for each answer', async () => {
    const standin = await start();
    for (let i = 0; i < 50; i++) await json(ask(standin, 'Hi'));
    expect(standin.stats().maxInFlight).toBe(1);
  });

  it('takes defaults for all requests, which a request can override', async () => {
    const standin = await start({ behaviour: { status: 500 } });
    expect((await ask(standin, 'Hi')).status).toBe(500);
    const set = (text: string) => fetch(`${standin.url}/behaviour`, { method: 'POST', body: text });
    expect((await set('[[tokens=2]] [[health=500]]')).status).toBe(204);
    expect((await json(ask(standin, 'Hi'))).usage.completion_tokens).toBe(2);
    expect((await json(ask(standin, 'Hi [[tokens=4]]'))).usage.completion_tokens).toBe(4);
    expect((await fetch(`${standin.url}/health`)).status).toBe(500);
    expect((await set('[[unheard-of]]')).status).toBe(400);
  });
});

describe('a caller that hangs up', () => {
  it.each([
    ['a stream between tokens', '[[tokens=1000]] [[token-ms=5]]', true],
    ['a stream that stalls', '[[stall]]', true],
    ['a huge stream nobody reads', '[[bytes=900000000]]', true],
    ['a whole answer that is being produced', '[[delay-ms=3600000]]', false],
    ['a silence', '[[silence]]', false],
    ['an answer that is held', '[[held]]', false],
  ])('ends %s, and is recorded', async (_what, directives, streamed) => {
    const standin = await start();
    const caller = connect(standin.port, '127.0.0.1');
    const text = body(directives, { stream: streamed });
    caller.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
    if (streamed) {
      await once(caller, 'readable');
    } else await until(() => standin.stats().lastRequest !== null);
    expect(standin.stats().inFlight).toBe(1);
    caller.destroy();
    await until(() => standin.stats().inFlight === 0);
    expect(standin.stats()).toMatchObject({ aborted: 1, answered: 0, models: {} });
  });

  it('in the middle of its body is recorded, and does not affect others', async () => {
    const standin = await start();
    const caller = connect(standin.port, '127.0.0.1');
    caller.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"mod');
    await until(() => standin.stats().inFlight === 1);
    caller.destroy();
    await until(() => standin.stats().aborted === 1);
    expect((await ask(standin, 'Hi')).status).toBe(200);
  });
});
