import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually, startUpstream, type Upstream } from '@tidegate/testing';
import { controlOf, must, OPERATOR } from '../support/control.ts';
import { type Answer, call } from '../support/http.ts';
import { newKey, newOrg, publish } from '../support/org.ts';
import { usageOf, useSharedStack } from '../support/stack.ts';

const stack = useSharedStack();
let standin: Standin;
/** A model that records the requests it gets. */
let listener: Upstream;
let org: string;
let key: string;
let answered = 0;

/**
 * Bodies are written as text, so that numbers, field names and duplicate fields stay as they are.
 */
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
});
afterAll(async () => {
  await standin?.close();
  await listener?.close();
});

describe('a request is answered', () => {
  it.each([
    [
      'with nothing but a model and messages [message.content.string] [request.messages.least] [service.kinds]',
      withMembers(''),
    ],
    ['with max_tokens at its minimum [request.max_tokens.range]', withMembers('"max_tokens":1')],
    [
      'with max_tokens at its maximum [limit.max_tokens] [request.max_tokens.range]',
      withMembers('"max_tokens":8192'),
    ],
    [
      'with max_completion_tokens [request.max_completion_tokens.type]',
      withMembers('"max_completion_tokens":8192'),
    ],
    ['with temperature 0 [request.temperature.range]', withMembers('"temperature":0')],
    ['with temperature 2 [request.temperature.range]', withMembers('"temperature":2.0')],
    ['with a temperature in exponent form', withMembers('"temperature":1e0')],
    ['with top_p 1 [request.top_p.range]', withMembers('"top_p":1')],
    ['with a small top_p [request.top_p.range]', withMembers('"top_p":1e-9')],
    [
      'with one stop of 64 characters [limit.stop] [request.stop.forms]',
      withMembers(`"stop":"${'z'.repeat(64)}"`),
    ],
    [
      'with one stop of 64 characters of four bytes [request.stop.length]',
      withMembers(`"stop":"${'🌊'.repeat(64)}"`),
    ],
    [
      'with four stops [limit.stop] [request.stop.count] [request.stop.forms]',
      withMembers('"stop":["zz1","zz2","zz3","zz4"]'),
    ],
    ['with a seed [request.seed.type]', withMembers('"seed":42')],
    ['with a negative seed', withMembers('"seed":-42')],
    ['with n 1 [request.n]', withMembers('"n":1')],
    ['with stream false [request.stream.type]', withMembers('"stream":false')],
    [
      'with stream and its options [request.stream_options.only-streaming]',
      withMembers('"stream":true,"stream_options":{"include_usage":false}'),
    ],
    ['with stream and empty options', withMembers('"stream":true,"stream_options":{}')],
    ['with a user [request.user.type]', withMembers('"user":"ada"')],
    ['with an empty user', withMembers('"user":""')],
    [
      'with null for every optional field [request.null]',
      withMembers(
        '"max_tokens":null,"max_completion_tokens":null,"temperature":null,"top_p":null,"stop":null,"seed":null,"n":null,"stream":null,"stream_options":null,"user":null',
      ),
    ],
    ['with null for fields it does not take', withMembers('"tools":null,"logprobs":null,"__proto__":null')],
    ['with null members of a message', withMessage('{"role":"user","content":"Hi","name":null}')],
    [
      'with include_usage null [request.null]',
      withMembers('"stream":true,"stream_options":{"include_usage":null}'),
    ],
    ['whose repeated member is right the last time', withMembers('"max_tokens":"x","max_tokens":5')],
    ['whose names are escaped', `{"m\\u006fdel":"tide","messages":${MESSAGES}}`],
    ['with a byte order mark', `\ufeff${withMembers('')}`],
    ['with white space around', ` \r\n\t${withMembers('')}\n `],
    ['with a lone surrogate', withContent('"a\\ud83ab"')],
    ['with an empty text [message.content.string]', withContent('""')],
    [
      'with all roles [message.role.values]',
      withMessages(
        ['system', 'user', 'assistant', 'user']
          .map((role) => `{"role":"${role}","content":"x"}`)
          .join()
          .replace(/^(.*)$/, '[$1]'),
      ),
    ],
    [
      'with text parts [message.content.parts] [message.text-part.anywhere]',
      withContent('[{"type":"text","text":"a"},{"type":"text","text":""}]'),
    ],
    [
      'with text parts of the system [message.text-part.anywhere]',
      withContent('[{"type":"text","text":"a"}]', 'system'),
    ],
    [
      'with text parts of the assistant [message.text-part.anywhere]',
      withContent('[{"type":"text","text":"a"}]', 'assistant'),
    ],
    [
      'with 101 messages [request.messages.most]',
      withMessages(`[${Array(101).fill('{"role":"user","content":"x"}').join()}]`),
    ],
  ])('%s', async (_name, body) => {
    const answer = await send(body);
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([200, expect.anything()]);
  });

  it('within max_completion_tokens when max_tokens is sent too [request.max_completion_tokens.wins]', async () => {
    const body = withContent('"[[tokens=50]]"').replace('}', '}').slice(0, -1);
    const { json } = await send(`${body},"max_tokens":40,"max_completion_tokens":3}`);
    expect(json).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 3 },
    });
  });

  it('with 512 tokens at most when nothing is said [limit.max_tokens] [request.max_tokens.default]', async () => {
    const { json } = await send(withContent('"[[tokens=600]]"'));
    expect(json).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 512 },
    });
  });

  it('up to what it asked to stop at [request.stop.effect]', async () => {
    const { json } = await send(`${withContent('"[[say=one two three]]"').slice(0, -1)},"stop":["two"]}`);
    expect(json).toMatchObject({ choices: [{ message: { content: 'one ' }, finish_reason: 'stop' }] });
  });

  it('by a model that is sent no user and no detail [request.user.ignored] [version.refused-not-ignored]', async () => {
    await send(withMembers('"user":"ada","seed":7,"top_p":0.5'));
    expect([...(standin.stats().lastRequest?.members ?? [])].sort()).toEqual(
      ['max_tokens', 'messages', 'model', 'seed', 'stream', 'temperature', 'top_p'].sort(),
    );
  });
});

it('the settings for sampling reach the model as they were sent, and a temperature always does [request.seed.effect] [request.temperature.default] [request.top_p.default]', async () => {
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

type Refused = readonly [code: string, named: string, body: string, proves: string];
/** Bodies whose refusal must contain `named`. `proves` lists the ids of requirements. */
const invalid = (named: string, proves: string, ...bodies: string[]): Refused[] =>
  bodies.map((body) => ['invalid_request', named, body, proves]);
/** The same for bodies in which the field has these values. */
const invalidMember = (name: string, proves: string, ...values: string[]) =>
  invalid(name, proves, ...values.map((value) => withMembers(`"${name}":${value}`)));
const unsupported = (name: string, proves: string, members = `"${name}":[]`): Refused => [
  'unsupported_parameter',
  name,
  withMembers(members),
  proves,
];

const withModel = (model: string) => `{"model":${model},"messages":${MESSAGES}}`;
const withRole = (role: string) => withMessage(`{"role":${role},"content":"x"}`);
const withPart = (part: string) => withContent(`[${part}]`);
const INTEGERS = ['max_tokens', 'max_completion_tokens', 'seed', 'n'];
const NAMED = [
  ...['tools', 'tool_choice', 'functions', 'response_format', 'logprobs', 'logit_bias'],
  ...['presence_penalty', 'frequency_penalty'],
];
const FRACTION = '[request.max_tokens.type] [errors.invalid_request.integers]';
const LINK_PART = '{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}';

const REFUSED: readonly Refused[] = [
  ...invalid('model', '[request.model.required]', `{"messages":${MESSAGES}}`),
  ...invalid('model', '[request.null-required]', withModel('null')),
  ...invalid('model', '[request.model.type]', ...['5', '""', '[]', '{}', 'true'].map(withModel)),
  ...invalid('messages', '[request.messages.required]', '{"model":"tide"}'),
  ...invalid('messages', '[request.null-required]', withMessages('null')),
  ...invalid(
    'messages',
    '[request.messages.least] [message.empty-list] [errors.invalid_request.empty]',
    withMessages('[]'),
  ),
  ...invalid('messages', '[request.messages.type]', ...['{}', '"Hi"', '5'].map(withMessages)),
  ...invalid(
    'messages',
    '[request.messages.most]',
    withMessages(`[${Array(102).fill('{"role":"user","content":"x"}').join()}]`),
  ),
  ...invalidMember('max_tokens', '[request.max_tokens.range]', '0', '8193', '-1'),
  ...invalidMember('max_tokens', '[request.max_tokens.type]', '"5"', 'true', '[5]', '{}', '1e400'),
  ...invalidMember('max_tokens', FRACTION, '1.5'),
  ...invalidMember(
    'max_completion_tokens',
    '[request.max_completion_tokens.type]',
    ...['0', '8193', '-1', '1.5', '"5"', 'true', '[5]', '{}', '1e400'],
  ),
  ...INTEGERS.flatMap((name) =>
    invalidMember(name, '[request.integers]', '1.0', '1e0', '1E0', '1.00', '10e-1', '"1"'),
  ),
  ...invalidMember('max_tokens', '[request.integers] [errors.invalid_request.integers]', '100.0'),
  ...invalidMember('max_tokens', '[request.integers]', '1e2'),
  ...invalid('max_tokens', '[request.integers]', withMembers('"max_tokens":5,"max_tokens":5.0')),
  ...invalid(
    'max_tokens',
    '[request.max_tokens.range]',
    withMembers('"max_tokens":9000,"max_completion_tokens":5'),
  ),
  ...invalidMember(
    'temperature',
    '[request.temperature.range]',
    ...['-0.1', '2.1', '"1"', 'true', '1e400', '[]'],
  ),
  ...invalidMember('top_p', '[request.top_p.range]', '0', '-0', '0.0', '-1', '1.1', '"1"', 'false'),
  ...invalidMember('stop', '[request.stop.length]', '""', '[""]', `"${'z'.repeat(65)}"`),
  ...invalidMember('stop', '[request.stop.forms]', '[1]', '[null]', '5', '{}'),
  ...invalidMember('stop', '[request.stop.count]', '["a","b","c","d","e"]'),
  ...invalidMember('seed', '[request.seed.type]', '1.5', 'true', '1e400'),
  ...invalidMember('n', '[request.n] [limit.n]', '0', '2', '-1', 'true'),
  ...invalidMember('stream', '[request.stream.type]', '"true"', '1', '0', '[]', '{}'),
  ...invalid(
    'stream_options',
    '[request.stream_options.only-streaming]',
    ...['"stream_options":{"include_usage":true}', '"stream_options":{},"stream":false'].map(withMembers),
  ),
  ...invalid(
    'stream_options',
    '[request.stream_options.type]',
    ...['[]', '"x"', '1', 'true'].map((value) => withMembers(`"stream":true,"stream_options":${value}`)),
  ),
  ...invalid(
    'include_usage',
    '[request.stream_options.type]',
    withMembers('"stream":true,"stream_options":{"include_usage":1}'),
  ),
  unsupported('extra', '[request.stream_options.type]', '"stream":true,"stream_options":{"extra":1}'),
  ...invalidMember('user', '[request.user.type]', '5', 'true', '{}', '[]'),
  ...NAMED.map((name) => unsupported(name, `[request.unsupported.${name}] [errors.unsupported_parameter]`)),
  unsupported('logprobs', '[request.unsupported.logprobs]', '"logprobs":false'),
  unsupported('tools', '[request.unsupported.tools]', '"max_tokens":0,"tools":[]'),
  ...['function_call', 'top_k', 'metadata', 'store', 'Model'].map((name) =>
    unsupported(name, '[request.unknown] [version.refused-not-ignored]'),
  ),
  unsupported('__proto__', '[request.unknown]', '"__proto__":{"stream":true}'),
  unsupported('constructor', '[request.unknown]', '"constructor":1'),
  unsupported('toString', '[request.unknown]', '"toString":1'),
  ...invalid('role', '[message.role.values]', withMessage('{"content":"x"}')),
  ...invalid('role', '[message.role.values]', ...['"function"', '"User"', '""', 'null'].map(withRole)),
  ...invalid('role', '[message.role.type]', ...['5', '["user"]'].map(withRole)),
  ...['developer', 'tool'].flatMap((role) =>
    invalid('role', `[message.role.${role}] [errors.invalid_request.roles]`, withRole(`"${role}"`)),
  ),
  ...invalid(
    'name',
    '[message.name] [errors.invalid_request.name]',
    withMessage('{"role":"user","content":"x","name":"ada"}'),
  ),
  ...invalid(
    'tool_calls',
    '[message.fields]',
    withMessage('{"role":"assistant","content":"x","tool_calls":[]}'),
  ),
  ...invalid('__proto__', '[message.fields]', withMessage('{"role":"user","content":"x","__proto__":{}}')),
  ...invalid('messages[0]', '', ...['null', '"x"', '5', '[]'].map(withMessage)),
  ...invalid('messages[1]', '', withMessages('[{"role":"user","content":"x"},{}]')),
  ...invalid('content', '[message.content.type]', withMessage('{"role":"user"}')),
  ...invalid(
    'content',
    '[message.content.type]',
    ...['null', '5', '{}', 'true'].map((content) => withContent(content)),
  ),
  ...invalid('content', '', withContent('[]')),
  ...invalid('content', '[message.content.parts]', ...['null', '"x"', '[]'].map(withPart)),
  ...invalid(
    'content[0]',
    '[message.text-part]',
    ...['{"type":"text"}', '{"text":"x"}', '{"type":"text","text":null}', '{"type":"text","text":5}'].map(
      withPart,
    ),
  ),
  ...invalid(
    'content[0]',
    '',
    ...['{"type":"input_text","text":"x"}', '{"type":"text","text":"x","cache_control":{}}'].map(withPart),
  ),
  ...invalid(
    'content[0]',
    '[message.image-part]',
    ...[
      ...['{"type":"image_url"}', '{"type":"image_url","image_url":"https://a.example/b.png"}'],
      ...['{"type":"image_url","image_url":{}}', '{"type":"image_url","image_url":{"url":5}}'],
    ].map(withPart),
  ),
  ...invalid(
    'content[0]',
    '',
    withPart('{"type":"image_url","image_url":{"url":"https://a.example/b.png","size":1}}'),
  ),
  ...['system', 'assistant'].flatMap((role) =>
    invalid('user messages', '[message.image-part.user-only]', withContent(`[${LINK_PART}]`, role)),
  ),
  ...invalid('object', '', '[]', '"x"', '5', 'null', 'true'),
];

/** Shortens a body by the parts that most of them share. */
const shorten = (text: string) => {
  const own = text.replace(`{"model":"tide","messages":${MESSAGES},`, '{').replace('{"model":"tide",', '{');
  return own.length > 90 ? `${own.slice(0, 87)}...` : own;
};

const titleOf = ([code, named, body, proves]: Refused) =>
  `${shorten(body)}: ${code} ${named} ${proves}`.trimEnd();

/** The wording of a message may change, but it must name the field. */
describe('a request is refused, and the field named [errors.invalid_request] [error.message]', () => {
  it.each(REFUSED.map((refused) => [titleOf(refused), ...refused] as const))(
    '%s',
    async (_title, code, named, body) => {
      const answer = await send(body);
      expect([answer.status, answer.code]).toEqual([400, code]);
      expect(answer.message).toContain(named);
      expect(answer.json).toEqual({
        error: { message: expect.any(String), type: 'invalid_request_error', code },
      });
    },
  );
});

describe('what is not JSON is refused as such [completions.content-type] [errors.invalid_json]', () => {
  it.each([
    ['nothing', ''],
    ['white space', ' \n'],
    ['an early end', '{"model":"tide"'],
    ['one comma too many', withMembers('').replace(/}$/, ',}')],
    ['NaN', withMembers('"temperature":NaN')],
    ['single quotes', "{'model':'tide'}"],
    ['a comment', `/**/${withMembers('')}`],
    ['two documents', withMembers('') + withMembers('')],
    ['a leading zero', withMembers('"max_tokens":05')],
    ['a plus sign', withMembers('"max_tokens":+5')],
    ['a control character in a string', withContent('"a\nb"')],
    ['a form', 'model=tide&messages=Hi'],
    ['bytes that are not UTF-8', Buffer.from(withContent('"\xff\xfe"'), 'latin1')],
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

it('what was refused for its key, a limit or its model is in no count [metered.refused.key] [metered.refused.model] [metered.refused.rate]', async () => {
  const own = await newOrg(stack());
  const gateway = stack().info.gateway;
  await publish(stack(), own, listener.url, { context: 1000 });
  await publish(stack(), own, listener.url, { name: 'stopped' });
  must(await controlOf(stack()).stopModel(OPERATOR, { org: own, name: 'stopped' }));
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

it('none of the refused requests was counted, and each answered one was [errors.refused-untouched] [metered.refused.field]', async () => {
  expect(standin.stats().calls).toBe(answered);
  await eventually(async () => {
    const { totals, month } = await usageOf(stack(), org);
    expect(totals.requests).toBe(answered);
    expect(totals.errors).toBe(0);
    expect(month.requests).toBe(answered);
    return true;
  });
});
