import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually, startUpstream, type Upstream } from '@tidegate/testing';
import { type Answer, call } from '../support/http.ts';
import { newKey, newOrg, publish } from '../support/org.ts';
import { ctl, usageOf, useStack } from '../support/stack.ts';

const SET_UP_MS = 90_000;
const stack = useStack({ demo: false });
let standin: Standin;
/** A model that remembers what it was sent. */
let listener: Upstream;
let org: string;
let key: string;
let answered = 0;

/** A body is written as text, so that numbers, names and doubles stay as they are. */
const MESSAGES = '[{"role":"user","content":"Hi"}]';
const withMembers = (members: string) => `{"model":"tide","messages":${MESSAGES}${members && `,${members}`}}`;
const withMessages = (messages: string) => `{"model":"tide","messages":${messages}}`;
const withMessage = (message: string) => withMessages(`[${message}]`);
const withContent = (content: string, role = 'user') =>
  withMessage(`{"role":"${role}","content":${content}}`);

async function send(body: string | Uint8Array): Promise<Answer> {
  const answer = await call(stack().info.gateway, {
    key,
    body,
    headers: { 'content-type': 'application/json' },
  });
  if (answer.status === 200) answered++;
  return answer;
}

beforeAll(async () => {
  standin = await startStandin({ names: ['tide'], contextTokens: 20_000 });
  org = await newOrg(stack());
  await publish(stack(), org, standin.url, { context: 20_000 });
  listener = await startUpstream((request, reply) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    reply.json(request.path.endsWith('/models') ? {} : { choices, usage });
  });
  key = (await newKey(stack(), org)).key;
  await eventually(async () => (await send(withMembers(''))).status === 200);
}, SET_UP_MS);
afterAll(async () => {
  await standin?.close();
  await listener?.close();
});

describe('a request is answered', () => {
  it.each([
    ['with nothing but a model and messages', withMembers('')],
    ['with max_tokens at its least', withMembers('"max_tokens":1')],
    ['with max_tokens at its most', withMembers('"max_tokens":8192')],
    ['with max_completion_tokens', withMembers('"max_completion_tokens":8192')],
    ['with temperature 0', withMembers('"temperature":0')],
    ['with temperature 2', withMembers('"temperature":2.0')],
    ['with a temperature in exponent form', withMembers('"temperature":1e0')],
    ['with top_p 1', withMembers('"top_p":1')],
    ['with a small top_p', withMembers('"top_p":1e-9')],
    ['with one stop of 64 characters', withMembers(`"stop":"${'z'.repeat(64)}"`)],
    ['with one stop of 64 characters of four bytes', withMembers(`"stop":"${'🌊'.repeat(64)}"`)],
    ['with four stops', withMembers('"stop":["zz1","zz2","zz3","zz4"]')],
    ['with a seed', withMembers('"seed":42')],
    ['with a negative seed', withMembers('"seed":-42')],
    ['with n 1', withMembers('"n":1')],
    ['with stream false', withMembers('"stream":false')],
    ['with stream and its options', withMembers('"stream":true,"stream_options":{"include_usage":false}')],
    ['with stream and empty options', withMembers('"stream":true,"stream_options":{}')],
    ['with a user', withMembers('"user":"ada"')],
    ['with an empty user', withMembers('"user":""')],
    [
      'with null for every optional field',
      withMembers(
        '"max_tokens":null,"max_completion_tokens":null,"temperature":null,"top_p":null,"stop":null,"seed":null,"n":null,"stream":null,"stream_options":null,"user":null',
      ),
    ],
    ['with null for fields it does not take', withMembers('"tools":null,"logprobs":null,"__proto__":null')],
    ['with null members of a message', withMessage('{"role":"user","content":"Hi","name":null}')],
    ['with include_usage null', withMembers('"stream":true,"stream_options":{"include_usage":null}')],
    ['whose doubled member is right the last time', withMembers('"max_tokens":"x","max_tokens":5')],
    ['whose names are escaped', `{"m\\u006fdel":"tide","messages":${MESSAGES}}`],
    ['with a byte order mark', `\ufeff${withMembers('')}`],
    ['with white space around', ` \r\n\t${withMembers('')}\n `],
    ['with a lone surrogate', withContent('"a\\ud83ab"')],
    ['with an empty text', withContent('""')],
    [
      'with all roles',
      withMessages(
        ['system', 'user', 'assistant', 'user']
          .map((role) => `{"role":"${role}","content":"x"}`)
          .join()
          .replace(/^(.*)$/, '[$1]'),
      ),
    ],
    ['with text parts', withContent('[{"type":"text","text":"a"},{"type":"text","text":""}]')],
    ['with text parts of the system', withContent('[{"type":"text","text":"a"}]', 'system')],
    ['with text parts of the assistant', withContent('[{"type":"text","text":"a"}]', 'assistant')],
    ['with 101 messages', withMessages(`[${Array(101).fill('{"role":"user","content":"x"}').join()}]`)],
  ])('%s', async (_name, body) => {
    const answer = await send(body);
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.anything()]);
  });

  it('within max_completion_tokens when max_tokens is sent too', async () => {
    const body = withContent('"[[tokens=50]]"').replace('}', '}').slice(0, -1);
    const { json } = await send(`${body},"max_tokens":40,"max_completion_tokens":3}`);
    expect(json).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 3 },
    });
  });

  it('with 512 tokens at most when nothing is said', async () => {
    const { json } = await send(withContent('"[[tokens=600]]"'));
    expect(json).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 512 },
    });
  });

  it('up to what it asked to stop at', async () => {
    const { json } = await send(`${withContent('"[[say=one two three]]"').slice(0, -1)},"stop":["two"]}`);
    expect(json).toMatchObject({ choices: [{ message: { content: 'one ' }, finish_reason: 'stop' }] });
  });

  it('by a model that hears of no user and no detail', async () => {
    await send(withMembers('"user":"ada","seed":7,"top_p":0.5'));
    expect([...(standin.stats().lastRequest?.members ?? [])].sort()).toEqual(
      ['max_tokens', 'messages', 'model', 'seed', 'stream', 'temperature', 'top_p'].sort(),
    );
  });
});

it('the sampling reaches the model as it was sent, the temperature always', async () => {
  const own = await newOrg(stack());
  await publish(stack(), own, listener.url);
  const { key: ownKey } = await newKey(stack(), own);
  const heard = async (members: string): Promise<object> => {
    const question = { key: ownKey, body: withMembers(members) };
    await eventually(async () => (await call(stack().info.gateway, question)).status === 200);
    const asked = listener.requests.filter(({ path }) => path.endsWith('/completions'));
    const { model: _model, messages: _messages, ...rest } = asked.at(-1)?.json() ?? {};
    return rest;
  };
  expect(await heard('')).toEqual({ max_tokens: 512, temperature: 0, stream: false });
  expect(
    await heard('"temperature":0.3,"top_p":0.25,"seed":-7,"stop":["a","b"],"max_completion_tokens":9'),
  ).toEqual({ max_tokens: 9, temperature: 0.3, top_p: 0.25, seed: -7, stop: ['a', 'b'], stream: false });
});

const INTEGERS = ['max_tokens', 'max_completion_tokens', 'seed', 'n'];
const UNTAKEN = [
  ...['tools', 'tool_choice', 'functions', 'response_format', 'logprobs', 'logit_bias'],
  ...['presence_penalty', 'frequency_penalty', 'function_call', 'top_k', 'metadata', 'store', 'Model'],
];
/** More messages than text: the name of the field must be told. */
const REFUSED: readonly (readonly [code: string, named: string, body: string])[] = [
  ['invalid_request', 'model', `{"messages":${MESSAGES}}`],
  ...['null', '5', '""', '[]', '{}', 'true'].map(
    (value) => ['invalid_request', 'model', `{"model":${value},"messages":${MESSAGES}}`] as const,
  ),
  ['invalid_request', 'messages', '{"model":"tide"}'],
  ...['null', '[]', '{}', '"Hi"', '5', `[${Array(102).fill('{"role":"user","content":"x"}').join()}]`].map(
    (messages) => ['invalid_request', 'messages', withMessages(messages)] as const,
  ),
  ...['0', '8193', '-1', '1.5', '"5"', 'true', '[5]', '{}', '1e400'].flatMap((value) =>
    ['max_tokens', 'max_completion_tokens'].map(
      (name) => ['invalid_request', name, withMembers(`"${name}":${value}`)] as const,
    ),
  ),
  ...['1.0', '1e0', '1E0', '1.00', '10e-1', '"1"'].flatMap((value) =>
    INTEGERS.map((name) => ['invalid_request', name, withMembers(`"${name}":${value}`)] as const),
  ),
  ['invalid_request', 'max_tokens', withMembers('"max_tokens":100.0')],
  ['invalid_request', 'max_tokens', withMembers('"max_tokens":1e2')],
  ['invalid_request', 'max_tokens', withMembers('"max_tokens":9000,"max_completion_tokens":5')],
  ['invalid_request', 'max_tokens', withMembers('"max_tokens":5,"max_tokens":5.0')],
  ...['-0.1', '2.1', '"1"', 'true', '1e400', '[]'].map(
    (value) => ['invalid_request', 'temperature', withMembers(`"temperature":${value}`)] as const,
  ),
  ...['0', '-0', '0.0', '-1', '1.1', '"1"', 'false'].map(
    (value) => ['invalid_request', 'top_p', withMembers(`"top_p":${value}`)] as const,
  ),
  ...['""', '[""]', '[1]', '[null]', '5', '{}', '["a","b","c","d","e"]', `"${'z'.repeat(65)}"`].map(
    (value) => ['invalid_request', 'stop', withMembers(`"stop":${value}`)] as const,
  ),
  ...['1.5', 'true', '1e400'].map(
    (value) => ['invalid_request', 'seed', withMembers(`"seed":${value}`)] as const,
  ),
  ...['0', '2', '-1', 'true'].map((value) => ['invalid_request', 'n', withMembers(`"n":${value}`)] as const),
  ...['"true"', '1', '0', '[]', '{}'].map(
    (value) => ['invalid_request', 'stream', withMembers(`"stream":${value}`)] as const,
  ),
  ['invalid_request', 'stream_options', withMembers('"stream_options":{"include_usage":true}')],
  ['invalid_request', 'stream_options', withMembers('"stream_options":{},"stream":false')],
  ...['[]', '"x"', '1', 'true'].map(
    (value) =>
      ['invalid_request', 'stream_options', withMembers(`"stream":true,"stream_options":${value}`)] as const,
  ),
  ['invalid_request', 'include_usage', withMembers('"stream":true,"stream_options":{"include_usage":1}')],
  ['unsupported_parameter', 'extra', withMembers('"stream":true,"stream_options":{"extra":1}')],
  ...['5', 'true', '{}', '[]'].map(
    (value) => ['invalid_request', 'user', withMembers(`"user":${value}`)] as const,
  ),
  ...UNTAKEN.map((name) => ['unsupported_parameter', name, withMembers(`"${name}":[]`)] as const),
  ['unsupported_parameter', 'logprobs', withMembers('"logprobs":false')],
  ['unsupported_parameter', '__proto__', withMembers('"__proto__":{"stream":true}')],
  ['unsupported_parameter', 'constructor', withMembers('"constructor":1')],
  ['unsupported_parameter', 'toString', withMembers('"toString":1')],
  ['unsupported_parameter', 'tools', withMembers('"max_tokens":0,"tools":[]')],
  ['invalid_request', 'role', withMessage('{"content":"x"}')],
  ...['"developer"', '"tool"', '"function"', '"User"', '""', 'null', '5', '["user"]'].map(
    (role) => ['invalid_request', 'role', withMessage(`{"role":${role},"content":"x"}`)] as const,
  ),
  ['invalid_request', 'name', withMessage('{"role":"user","content":"x","name":"ada"}')],
  ['invalid_request', 'tool_calls', withMessage('{"role":"assistant","content":"x","tool_calls":[]}')],
  ['invalid_request', '__proto__', withMessage('{"role":"user","content":"x","__proto__":{}}')],
  ...['null', '"x"', '5', '[]'].map(
    (message) => ['invalid_request', 'messages[0]', withMessage(message)] as const,
  ),
  ['invalid_request', 'messages[1]', withMessages('[{"role":"user","content":"x"},{}]')],
  ['invalid_request', 'content', withMessage('{"role":"user"}')],
  ...['null', '5', '{}', '[]', 'true', '[null]', '["x"]', '[[]]'].map(
    (content) => ['invalid_request', 'content', withContent(content)] as const,
  ),
  ...[
    ...['{"type":"text"}', '{"text":"x"}', '{"type":"text","text":null}', '{"type":"text","text":5}'],
    ...['{"type":"input_text","text":"x"}', '{"type":"text","text":"x","cache_control":{}}'],
    ...['{"type":"image_url"}', '{"type":"image_url","image_url":"https://a.example/b.png"}'],
    ...['{"type":"image_url","image_url":{}}', '{"type":"image_url","image_url":{"url":5}}'],
    '{"type":"image_url","image_url":{"url":"https://a.example/b.png","size":1}}',
  ].map((part) => ['invalid_request', 'content[0]', withContent(`[${part}]`)] as const),
  ...['system', 'assistant'].map(
    (role) =>
      [
        'invalid_request',
        'user messages',
        withContent('[{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}]', role),
      ] as const,
  ),
  ...['[]', '"x"', '5', 'null', 'true'].map((body) => ['invalid_request', 'object', body] as const),
];

/** A body without what is the same in most of them. */
const shorten = (text: string) => {
  const own = text.replace(`{"model":"tide","messages":${MESSAGES},`, '{').replace('{"model":"tide",', '{');
  return own.length > 90 ? `${own.slice(0, 87)}...` : own;
};

describe('a request is refused, and the field named', () => {
  it.each(REFUSED.map(([code, named, body]) => [shorten(body), code, named, body] as const))(
    '%s: %s %s',
    async (_shown, code, named, body) => {
      const answer = await send(body);
      expect([answer.status, answer.code]).toEqual([400, code]);
      expect(answer.message).toContain(named);
      expect(answer.json).toEqual({
        error: { message: expect.any(String), type: 'invalid_request_error', code },
      });
    },
  );
});

describe('what is not JSON is refused as that', () => {
  it.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['an end too early', '{"model":"tide"'],
    ['a comma too many', withMembers('').replace(/}$/, ',}')],
    ['NaN', withMembers('"temperature":NaN')],
    ['single quotes', "{'model':'tide'}"],
    ['a comment', `/**/${withMembers('')}`],
    ['two documents', withMembers('') + withMembers('')],
    ['a leading zero', withMembers('"max_tokens":05')],
    ['a plus sign', withMembers('"max_tokens":+5')],
    ['a control character in a string', withContent('"a\nb"')],
    ['a form', 'model=tide&messages=Hi'],
    ['bytes that are no UTF-8', Buffer.from(withContent('"\xff\xfe"'), 'latin1')],
    ['an unsupported field before a mistake', '{"tools":[],'],
  ])('%s', async (_name, body) => {
    const answer = await send(body);
    expect([answer.status, answer.code]).toEqual([400, 'invalid_json']);
  });
});

it('nesting of any depth is refused like any wrong value', async () => {
  const deep = '['.repeat(400_000) + ']'.repeat(400_000);
  for (const [body, code] of [
    [withContent(deep), 'invalid_request'],
    [withMembers(`"deep":${deep}`), 'unsupported_parameter'],
    [deep, 'invalid_request'],
    ['['.repeat(400_000), 'invalid_json'],
    ['{"a":'.repeat(200_000), 'invalid_json'],
  ] as const) {
    const answer = await send(body);
    expect([answer.status, answer.code]).toEqual([400, code]);
  }
});

it('what was refused for its key, a limit or its model is in no count', async () => {
  const own = await newOrg(stack());
  const gateway = stack().info.gateway;
  await publish(stack(), own, listener.url, { context: 1000 });
  await publish(stack(), own, listener.url, { name: 'stopped' });
  await ctl(stack(), 'model', 'stop', '--org', own, '--name', 'stopped');
  const { key: once } = await newKey(stack(), own, { rpm: 1 });
  const of = async (body: string, sentKey = once) => (await call(gateway, { key: sentKey, body })).code;
  const hello = withMembers('');
  await eventually(async () => (await of(hello.replace('tide', 'stopped'))) === 'model_unavailable');
  expect(await of(hello, `${once}x`)).toBe('invalid_api_key');
  expect(await of(hello.replace('tide', 'nothing'))).toBe('model_not_found');
  await eventually(async () => (await of(hello)) === undefined);
  expect(await of(hello)).toBe('rate_limit_exceeded');
  await eventually(async () => (await usageOf(stack(), own)).totals.requests === 1);
  const { totals, month } = await usageOf(stack(), own);
  expect([totals.requests, totals.errors, month.requests]).toEqual([1, 0, 1]);
});

it('none of the refused requests was counted, and each answered one was', async () => {
  expect(standin.stats().calls).toBe(answered);
  await eventually(async () => {
    const { totals, month } = await usageOf(stack(), org);
    expect(totals.requests).toBe(answered);
    expect(totals.errors).toBe(0);
    expect(month.requests).toBe(answered);
    return true;
  });
});
