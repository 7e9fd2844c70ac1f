import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { type Answer, call, dial, open, readAnswer } from '../support/http.ts';
import { ask, newKey, newOrg, publish } from '../support/org.ts';
import { usageOf, useSharedStack } from '../support/stack.ts';

const stack = useSharedStack();
/** The same, with the contract's time-outs shortened. */
const impatient = useSharedStack({
  WHOLE_ANSWER_TIMEOUT_MS: '4000',
  FIRST_EVENT_TIMEOUT_MS: '4000',
  STREAM_PAUSE_MS: '4000',
  STREAM_MAX_ALWAYS_ON_MS: '6000',
});
const CONTEXT = 100_000;
const MIB = 1024 * 1024;
let standin: Standin;
let org: string;
let key: string;
const base = () => stack().info.gateway;

beforeAll(async () => {
  standin = await startStandin({ names: ['tide'], contextTokens: CONTEXT });
  org = await newOrg(stack(), { tokensPerMonth: 1_000_000_000 });
  await publish(stack(), org, standin.url, { context: CONTEXT });
  key = (await newKey(stack(), org)).key;
  await eventually(async () => (await send('Hi')).status === 200);
});
afterAll(() => standin?.close());

const send = (content: string, more: object = {}): Promise<Answer> =>
  call(base(), { key, body: ask('tide', content, more) });
const stream = (content: string, more: object = {}) => send(content, { stream: true, ...more });
const sendImpatiently = (content: string, more: object = {}): Promise<Answer> =>
  call(impatient().info.gateway, { key, body: ask('tide', content, more) });

/** Resolves once the model has noticed the end of every earlier call. */
const modelIsIdle = () => eventually(() => standin.stats().inFlight === 0);

interface Chunk {
  readonly id: string;
  readonly created: number;
  readonly choices: { delta: { role?: string; content?: string }; finish_reason: string | null }[];
  readonly usage?: object;
}

/** The chunks of a stream. Expects only `data:` lines, each an event. */
function chunksOf({ text }: Answer): { chunks: Chunk[]; done: boolean } {
  const events = text.split('\n\n');
  expect(events.pop()).toBe('');
  const data = events.map((event) => {
    expect(event).toMatch(/^data: [^\n]+$/);
    return event.slice('data: '.length);
  });
  const done = data.at(-1) === '[DONE]';
  return { chunks: (done ? data.slice(0, -1) : data).map((json) => JSON.parse(json) as Chunk), done };
}
const textOf = (chunks: readonly Chunk[]) =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

function isUpstreamError(answer: Answer): void {
  expect([answer.status, answer.headers['retry-after']]).toEqual([502, undefined]);
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(answer.json).toEqual({
    error: { message: expect.any(String), type: 'api_error', code: 'upstream_error' },
  });
}

/**
 * Expects an answer that began, contains only chunks, and whose connection closed before the body's
 * end.
 */
function isIncomplete(answer: Answer): void {
  expect([answer.status, answer.over]).toEqual([200, false]);
  const { chunks, done } = chunksOf(answer);
  expect(done).toBe(false);
  for (const chunk of chunks) {
    expect(chunk).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [{ index: 0, finish_reason: null }],
    });
  }
}

describe('a whole answer', () => {
  const FORMAT = [
    '[answer.id] [answer.object] [answer.created] [answer.model] [answer.choices.one]',
    '[answer.choices.index] [answer.choices.message] [answer.choices.logprobs]',
    '[answer.finish_reason.stop] [answer.usage] [request.stream.default]',
  ].join(' ');

  it.each([
    ['plain', ''],
    ['with reasoning [answer.no-more]', '[[reasoning]]'],
    ['with characters of many bytes', '[[unicode]]'],
    ['with an unknown finish reason', '[[finish=eos_token]]'],
  ])(`has exactly the fields of the format: %s ${FORMAT}`, async (_name, directives) => {
    const before = Math.floor(Date.now() / 1000);
    const answer = await send(`Hi ${directives}`);
    const after = Math.floor(Date.now() / 1000);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^chatcmpl-\w+$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'tide',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: expect.stringMatching(/\S/) },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
        total_tokens: expect.any(Number),
      },
    });
    const { created } = answer.json as { created: number };
    expect(Number.isInteger(created) && created >= before && created <= after).toBe(true);
  });

  it.each([
    ['none', '[[no-usage]]'],
    ['counts that do not add up', '[[usage=5,5,11]]'],
    ['counts below zero', '[[usage=-5,10,5]]'],
    ['more than the model can hold', `[[usage=${CONTEXT},1,${CONTEXT + 1}]]`],
  ])('has usage null when the model reported %s [answer.usage.null]', async (_name, directive) => {
    expect((await send(directive)).json).toMatchObject({ usage: null });
  });

  it('has text even if the model sent null [answer.choices.message]', async () => {
    expect((await send('[[null-content]]')).json).toMatchObject({
      choices: [{ message: { content: expect.any(String) } }],
    });
  });

  it('may have nearly 2 MiB [completions.whole.size]', async () => {
    const { status, json } = await send(`[[bytes=${2 * MIB - 2000}]]`);
    expect(status).toBe(200);
    const { choices } = json as { choices: { message: { content: string } }[] };
    expect(choices[0]?.message.content).toHaveLength(2 * MIB - 2000);
  });

  it.each([
    ['is over 2 MiB [completions.whole.size] [limit.whole-answer]', `[[bytes=${2 * MIB + 1}]]`],
    ['is broken off', '[[die]]'],
    ['is half a body', '[[garbage]]'],
    ['is an error with status 200', '[[inband-error]]'],
    ['is status 500', '[[status=500]]'],
    ['is status 503', '[[status=503]]'],
    ['is status 401', '[[status=401]]'],
    ['is status 429', '[[status=429]]'],
    ['is a redirect', '[[status=302]]'],
  ])('that %s is 502 upstream_error [errors.upstream_error]', async (_name, directive) => {
    isUpstreamError(await send(directive));
  });

  it('that never comes, begins or ends too late, or stalls is 502 upstream_error [completions.whole.time] [errors.upstream_error]', async () => {
    const late = ['[[silence]]', '[[head-delay-ms=60000]]', '[[token-ms=500]] [[tokens=100]]', '[[stall]]'];
    for (const answer of await Promise.all(late.map((directive) => sendImpatiently(directive))))
      isUpstreamError(answer);
  });

  const DIALECTS = [
    'context',
    'context-flat',
    'context-llamacpp',
    'context-tgi',
    'context-ollama',
    'context-text',
  ];
  it.each([
    ...DIALECTS.map((kind) => [`[[error=${kind}]]`, '[errors.model_refused] [message.context]'] as const),
    ['[[status=400]]', '[errors.model_refused]'],
    ['[[status=422]]', '[errors.model_refused]'],
  ])(
    'that the model refuses is 400 model_refused, in its own words, streamed or not: %s %s',
    async (directive, _proves) => {
      for (const answer of [await send(directive), await stream(directive)]) {
        expect(answer.status).toBe(400);
        expect(answer.json).toEqual({
          error: {
            message: expect.stringMatching(/\w+ \w+/),
            type: 'invalid_request_error',
            code: 'model_refused',
          },
        });
      }
    },
  );
});

describe('a streamed answer', () => {
  const FORMAT = [
    '[chunk.same] [chunk.object] [chunk.first] [chunk.content] [chunk.logprobs]',
    '[chunk.finish_reason] [chunk.usage] [completions.stream.events] [completions.stream.first]',
    '[completions.stream.pieces] [completions.stream.usage] [completions.stream.done]',
    '[events.stream-only] [request.stream.true] [request.stream_options.include_usage]',
  ].join(' ');

  it.each([
    ['plain', ''],
    ['merged first chunk', '[[merged-first]]'],
    ['CRLF', '[[crlf]]'],
    ['comments', '[[comments]]'],
    ['cut anywhere', '[[split-bytes=3]] [[say=Grüße 🌊🚢]]'],
    ['usage on the last chunk', '[[usage-on-last]]'],
    ['no [DONE]', '[[no-done]]'],
    ['kept open after [DONE]', '[[linger]]'],
    ['reasoning', '[[reasoning]]'],
    ['unknown finish reason', '[[finish=eos]]'],
  ])(`is the same however the model sends it: %s ${FORMAT}`, async (_name, directives) => {
    const whole = (await send(`Hi ${directives}`)).json as {
      choices: { message: { content: string } }[];
      usage: object;
    };
    for (const includeUsage of [true, false]) {
      const answer = await stream(`Hi ${directives}`, { stream_options: { include_usage: includeUsage } });
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']).toMatch(/^text\/event-stream/);
      expect(answer.headers['content-length']).toBeUndefined();
      const { chunks, done } = chunksOf(answer);
      expect(done).toBe(true);
      const [{ id, created }] = chunks as [Chunk];
      expect(id).toMatch(/^chatcmpl-\w+$/);
      expect(Number.isInteger(created)).toBe(true);
      const same = { id, object: 'chat.completion.chunk', created, model: 'tide' };
      const content = includeUsage ? chunks.slice(0, -1) : chunks;
      expect(content.length).toBeGreaterThan(1);
      for (const [i, chunk] of content.entries()) {
        const delta = i === 0 ? { role: 'assistant', content: '' } : { content: expect.any(String) };
        const finish = i === content.length - 1 ? 'stop' : null;
        expect(chunk).toEqual({
          ...same,
          choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        });
      }
      expect(textOf(content)).toBe(whole.choices[0]?.message.content);
      if (includeUsage) expect(chunks.at(-1)).toEqual({ ...same, choices: [], usage: whole.usage });
    }
  });

  it('ends with length when its tokens were used up [chunk.finish_reason] [request.max_tokens.effect]', async () => {
    const { chunks, done } = chunksOf(await stream('[[tokens=50]]', { max_tokens: 3 }));
    expect([chunks.at(-1)?.choices[0]?.finish_reason, done]).toEqual(['length', true]);
  });

  it('comes as the model writes it, not all at the end', async () => {
    await modelIsIdle();
    const message = await open(base(), {
      key,
      body: ask('tide', '[[stall]] [[after=3]]', { stream: true }),
    });
    let text = '';
    for await (const piece of message) {
      text += piece;
      // The first chunk has the role.
      if (text.split('\n\n').length - 1 === 1 + 3) break;
    }
    expect(standin.stats().inFlight).toBe(1);
    await modelIsIdle();
  });

  it('that fails before it begins is an error in JSON [completions.stream.errors-before]', async () => {
    isUpstreamError(await stream('[[status=500]]'));
  });

  it('that does not begin in time is an error in JSON [completions.stream.errors-before]', async () => {
    const late = ['[[delay-ms=60000]]', '[[silence]]'];
    for (const answer of await Promise.all(
      late.map((directive) => sendImpatiently(directive, { stream: true })),
    ))
      isUpstreamError(answer);
  });

  it.each([
    ['a reset connection', '[[die]] [[after=3]]'],
    ['an error event', '[[inband-error]] [[after=3]]'],
    ['an event that is not JSON', '[[garbage]] [[after=3]]'],
    ['more than 8 MiB [limit.stream.size]', `[[bytes=${9 * MIB}]]`],
    ['an event over 1 MiB [limit.stream.event]', `[[event-bytes=${MIB + 1000}]]`],
  ])(
    'that fails later ends without [DONE], and without an event that is not a chunk: %s [completions.stream.incomplete]',
    async (_name, directive) => {
      isIncomplete(await stream(`Hi ${directive}`, { max_tokens: 8000 }));
    },
  );

  it('that pauses or lasts too long ends without [DONE] [completions.stream.incomplete] [limit.stream.always-on] [limit.stream.pause]', async () => {
    const late = ['[[stall]] [[after=3]]', '[[tokens=1000]] [[token-ms=100]]'];
    const more = { stream: true, max_tokens: 8000 };
    // On a busy machine, a stream may not even begin in the short time.
    const begun = (directive: string) =>
      eventually(async () => {
        const answer = await sendImpatiently(directive, more);
        return answer.status === 200 && answer;
      });
    const answers = await Promise.all(late.map(begun));
    for (const answer of answers) isIncomplete(answer);
  });

  it('may have an event of nearly 1 MiB [limit.stream.event]', async () => {
    const { chunks, done } = chunksOf(await stream(`[[event-bytes=${MIB - 1000}]]`));
    expect(done).toBe(true);
    expect(textOf(chunks).length).toBeGreaterThan(MIB - 3000);
  });
});

describe('the usage', () => {
  interface Row {
    readonly requests: number;
    readonly errors: number;
    readonly promptTokens: number;
    readonly completionTokens: number;
    readonly reservedTokens: number;
  }

  /** Sends requests with a new key. Returns the key's usage once that many of them are counted. */
  async function counted(requests: number, send: (requestKey: string) => Promise<unknown>): Promise<Row> {
    const { id, key: requestKey } = await newKey(stack(), org);
    await send(requestKey);
    return eventually(async () => {
      const { rows } = await usageOf(stack(), org);
      return rows.find((row) => row.keyId === id && row.requests === requests);
    });
  }

  it('of answers is what they said, streamed or not [metered.counted] [metered.streams]', async () => {
    const said = { prompt_tokens: 0, completion_tokens: 0 };
    const row = await counted(2, async (requestKey) => {
      const whole = await call(base(), { key: requestKey, body: ask('tide', 'Hi') });
      const { usage } = whole.json as { usage: typeof said };
      // The usage is counted whether the stream asks for it or not. The same request has the same
      // usage.
      await call(base(), { key: requestKey, body: ask('tide', 'Hi', { stream: true }) });
      said.prompt_tokens = 2 * usage.prompt_tokens;
      said.completion_tokens = 2 * usage.completion_tokens;
    });
    expect(row).toMatchObject({
      errors: 0,
      promptTokens: said.prompt_tokens,
      completionTokens: said.completion_tokens,
      reservedTokens: 0,
    });
  });

  it('of answers whose model reported none, or lied, is all that was reserved, without errors [plan.settlement.missing]', async () => {
    const row = await counted(3, async (requestKey) => {
      for (const body of [
        ask('tide', '[[no-usage]]'),
        ask('tide', '[[no-usage]]', { stream: true }),
        ask('tide', '[[usage=1,1,3]]'),
      ]) {
        expect((await call(base(), { key: requestKey, body })).status).toBe(200);
      }
    });
    expect(row).toMatchObject({
      errors: 0,
      promptTokens: 0,
      completionTokens: 0,
      reservedTokens: 3 * CONTEXT,
    });
  });

  it('of requests that got no complete answer is an error and all that was reserved for each [completions.stream.incomplete-counted] [metered.errors] [plan.settlement.interrupted] [plan.settlement.shown]', async () => {
    const row = await counted(4, async (requestKey) => {
      for (const body of [
        ask('tide', '[[status=400]]'),
        ask('tide', '[[status=500]]'),
        ask('tide', '[[die]] [[after=2]]', { stream: true }),
      ]) {
        await call(base(), { key: requestKey, body });
      }
      await call(impatient().info.gateway, { key: requestKey, body: ask('tide', '[[silence]]') });
    });
    expect(row).toMatchObject({
      errors: 4,
      promptTokens: 0,
      completionTokens: 0,
      reservedTokens: 4 * CONTEXT,
    });
  });

  it('of clients that hang up is an error, fully charged, and their models stop [plan.settlement.interrupted]', async () => {
    await modelIsIdle();
    const aborted = standin.stats().aborted;
    const row = await counted(2, async (requestKey) => {
      for (const stream of [false, true]) {
        const socket = await dial(base());
        const body = JSON.stringify(ask('tide', '[[tokens=500]] [[token-ms=100]]', { stream }));
        socket.write(
          `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${requestKey}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
        await eventually(() => standin.stats().inFlight === 1);
        if (stream) await once(socket, 'data');
        socket.destroy();
        await modelIsIdle();
      }
    });
    expect(standin.stats().aborted).toBe(aborted + 2);
    expect(row).toMatchObject({ errors: 2, reservedTokens: 2 * CONTEXT });
  });
});

describe('a slot is free', () => {
  it('before the last byte of an answer has arrived, whole, streamed or refused by the model [plan.freed.settled] [retry.may-work]', async () => {
    const single = (await newKey(stack(), org, { atOnce: 1 })).key;
    for (const [content, more] of [
      ['Hi', {}],
      ['Hi', { stream: true }],
      ['[[status=400]]', {}],
      ['[[status=500]]', {}],
      ['[[die]] [[after=1]]', { stream: true }],
      ['[[linger]]', { stream: true }],
    ] as const) {
      for (let i = 0; i < 5; i++) {
        const answer = await call(base(), { key: single, body: ask('tide', content, more) });
        expect([content, answer.code]).not.toEqual([content, 'rate_limit_exceeded']);
      }
    }
  });

  it('but not while a stream runs; a request refused meanwhile may come again after a second [cause.key-at-once] [limit.key-at-once]', async () => {
    const single = (await newKey(stack(), org, { atOnce: 1 })).key;
    const running = await open(base(), {
      key: single,
      body: ask('tide', '[[held]]', { stream: true }),
    });
    const refused = await call(base(), { key: single, body: ask('tide', 'Hi') });
    expect([refused.status, refused.code, refused.headers['retry-after']]).toEqual([
      429,
      'rate_limit_exceeded',
      '1',
    ]);
    expect(refused.headers['x-should-retry']).toBeUndefined();
    standin.release();
    expect((await readAnswer(running)).text).toContain('[DONE]');
    expect((await call(base(), { key: single, body: ask('tide', 'Hi') })).status).toBe(200);
  });
});
