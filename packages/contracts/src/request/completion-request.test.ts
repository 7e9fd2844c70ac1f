import { describe, expect, it, jest } from '@jest/globals';
import { isRefusal } from '../errors.ts';
import { validateCompletionRequest } from './completion-request.ts';

const MESSAGES = '[{"role":"user","content":"hi"}]';

/** A minimal body as JSON text. The given members are added, or replace its own. */
function bodyWith(members: Record<string, string> = {}): string {
  const all = { model: '"m"', messages: MESSAGES, ...members };
  return `{${Object.entries(all)
    .filter(([, json]) => json !== '')
    .map(([name, json]) => `"${name}":${json}`)
    .join(',')}}`;
}

function refusalOf(text: string): { code: string; message: string } {
  const result = validateCompletionRequest(text);
  if (!isRefusal(result)) throw new Error(`accepted: ${text.slice(0, 200)}`);
  return { code: result.code, message: result.message };
}

function requestOf(text: string) {
  const result = validateCompletionRequest(text);
  if (isRefusal(result)) throw new Error(`refused: ${result.message}`);
  return result;
}

describe('validateCompletionRequest', () => {
  it('gives the defaults of the contract to a minimal request', () => {
    const { messages, ...rest } = requestOf(bodyWith());
    expect(rest).toEqual({
      model: 'm',
      stream: false,
      includeUsage: false,
      maxTokens: 512,
      maxTokensFrom: null,
      sampling: { temperature: 0 },
      seed: null,
      imageCount: 0,
      linkedImages: [],
      inlineImages: [],
    });
    expect(messages).toHaveLength(1);
  });

  it('takes every field at once', () => {
    const text = bodyWith({
      max_tokens: '100',
      max_completion_tokens: '200',
      temperature: '0.5',
      top_p: '0.9',
      stop: '["a","b"]',
      seed: '-7',
      n: '1',
      stream: 'true',
      stream_options: '{"include_usage":true}',
      user: '"someone"',
    });
    expect(requestOf(text)).toMatchObject({
      stream: true,
      includeUsage: true,
      maxTokens: 200,
      maxTokensFrom: 'max_completion_tokens',
      sampling: { temperature: 0.5, top_p: 0.9, stop: ['a', 'b'] },
      seed: -7n,
    });
  });

  it('treats null as not sent, for fields of the contract and any other [request.null]', () => {
    const optional = [
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
      'stop',
      'seed',
      'n',
      'stream',
      'stream_options',
      'user',
      'tools',
      'whatever',
      '__proto__',
    ];
    const nulls = Object.fromEntries(optional.map((name) => [name, 'null']));
    expect(requestOf(bodyWith({ ...nulls, ['__proto__']: 'null' }))).toEqual(requestOf(bodyWith()));
    expect(
      requestOf(bodyWith({ stream: 'true', stream_options: '{"include_usage":null,"x":null}' })),
    ).toMatchObject({
      includeUsage: false,
    });
    const inMessage =
      '[{"role":"user","name":null,"content":[{"type":"text","text":"hi","image_url":null}]}]';
    expect(requestOf(bodyWith({ messages: inMessage })).imageCount).toBe(0);
  });

  it.each([
    ['model', ''],
    ['model', 'null'],
    ['messages', ''],
    ['messages', 'null'],
  ])('refuses a body whose required %s is %j', (name, json) => {
    const { code, message } = refusalOf(bodyWith({ [name]: json }));
    expect(code).toBe('invalid_request');
    expect(message).toMatch(new RegExp(`^${name} is required`));
  });

  it.each(['', '{', '{"model":}', 'hello', "{'model':1}", '{"model":"m",}', '{"a":01}', '{} {}', '[[[['])(
    'refuses %j as invalid_json',
    (text) => {
      expect(refusalOf(text).code).toBe('invalid_json');
    },
  );

  it.each(['[]', '"a"', '1', 'null', 'true', '[{"model":"m"}]'])(
    'refuses %s, which is JSON but not an object',
    (text) => {
      expect(refusalOf(text)).toEqual({
        code: 'invalid_request',
        message: 'The body must be a JSON object.',
      });
    },
  );

  const integer = (name: string) => [
    `${name} must be an integer from 1 to 8192`,
    'written without fraction or exponent',
  ];
  it.each<[string, string, string[]]>([
    ...['max_tokens', 'max_completion_tokens'].flatMap((name) =>
      [
        '0',
        '-1',
        '-0',
        '8193',
        '1.5',
        '100.0',
        '1e2',
        '1E2',
        '1.0',
        '"100"',
        'true',
        '[]',
        '{}',
        '1e400',
        '9007199254740993',
      ].map((json): [string, string, string[]] => [name, json, integer(name)]),
    ),
    ...['0', '2', '-1', '1.0', '1e0', '10e-1', '"1"', 'true'].map((json): [string, string, string[]] => [
      'n',
      json,
      ['n must be 1'],
    ]),
    ...[
      '1.0',
      '1e3',
      '0.5',
      '"1"',
      'true',
      '9223372036854775808',
      '-9223372036854775809',
      '18446744073709551616',
      '9'.repeat(1_000_000),
      '-0.0',
    ].map((json): [string, string, string[]] => [
      'seed',
      json,
      ['seed must be an integer from -9223372036854775808 to 9223372036854775807'],
    ]),
    ...['-0.1', '2.01', '1e400', '"1"', 'true', '[]'].map((json): [string, string, string[]] => [
      'temperature',
      json,
      ['temperature must be a number from 0 to 2'],
    ]),
    ...['0', '-0', '1.01', '-1', '1e-400', '"1"', 'false'].map((json): [string, string, string[]] => [
      'top_p',
      json,
      ['top_p must be a number greater than 0 and at most 1'],
    ]),
    ...[
      '""',
      '[""]',
      '["a","b","c","d","e"]',
      '["a",null]',
      '[1]',
      '1',
      '{}',
      'true',
      '[["a"]]',
      JSON.stringify('x'.repeat(65)),
      JSON.stringify('😀'.repeat(65)),
      JSON.stringify(['a', 'x'.repeat(2_000)]),
    ].map((json): [string, string, string[]] => [
      'stop',
      json,
      ['stop must be a string or an array of up to 4 strings', '1 to 64 characters'],
    ]),
    ...['"true"', '1', '0', '[]'].map((json): [string, string, string[]] => [
      'stream',
      json,
      ['stream must be true or false'],
    ]),
    ...['1', '{}', '[]', 'true'].map((json): [string, string, string[]] => [
      'user',
      json,
      ['user must be a string'],
    ]),
    ['model', '""', ['model must not be empty']],
    ...['1', '[]', '{}', 'true'].map((json): [string, string, string[]] => [
      'model',
      json,
      ['model must be a string'],
    ]),
    ['stream_options', '{}', ['stream_options is allowed only with stream set to true']],
    ['stream_options', '{"include_usage":true}', ['stream_options is allowed only with stream set to true']],
    ['stream_options', 'true', ['stream_options must be an object', 'include_usage']],
    ['stream_options', '[]', ['stream_options must be an object', 'include_usage']],
    ['stream_options', '{"include_usage":1}', ['stream_options.include_usage must be true or false']],
  ])('refuses %s %s, naming the field and what is allowed', (name, json, parts) => {
    const { code, message } = refusalOf(bodyWith({ [name]: json }));
    expect(code).toBe('invalid_request');
    for (const part of parts) expect(message).toContain(part);
  });

  it.each<[string, string, object]>([
    ['max_tokens', '1', { maxTokens: 1, maxTokensFrom: 'max_tokens' }],
    ['max_tokens', ' 8192 ', { maxTokens: 8192 }],
    ['max_completion_tokens', '3', { maxTokens: 3, maxTokensFrom: 'max_completion_tokens' }],
    ['n', '1', {}],
    ['seed', '-0', { seed: 0n }],
    ['seed', ' 9007199254740993 ', { seed: 9007199254740993n }],
    ['seed', '9223372036854775807', { seed: 2n ** 63n - 1n }],
    ['seed', '-9223372036854775808', { seed: -(2n ** 63n) }],
    ['temperature', '2.0', { sampling: { temperature: 2 } }],
    ['temperature', '2e0', { sampling: { temperature: 2 } }],
    ['top_p', '1', { sampling: { temperature: 0, top_p: 1 } }],
    ['top_p', '1e-9', { sampling: { temperature: 0, top_p: 1e-9 } }],
    ['stop', '"x"', { sampling: { temperature: 0, stop: ['x'] } }],
    ['stop', '[]', { sampling: { temperature: 0 } }],
    ['stop', '["a","b","c","d"]', { sampling: { temperature: 0, stop: ['a', 'b', 'c', 'd'] } }],
    ['stop', JSON.stringify('😀'.repeat(64)), { sampling: { temperature: 0, stop: ['😀'.repeat(64)] } }],
    ['stop', '"a\\ud800"', { sampling: { temperature: 0, stop: ['a\ufffd'] } }],
    ['stream', 'false', { stream: false }],
    ['user', '""', {}],
    ['model', '"a model of \\ud83d\\ude00"', { model: 'a model of 😀' }],
  ])('takes %s %s', (name, json, expected) => {
    expect(requestOf(bodyWith({ [name]: json }))).toMatchObject(expected);
  });

  it('refuses a bad max_tokens although max_completion_tokens wins', () => {
    expect(refusalOf(bodyWith({ max_tokens: '0', max_completion_tokens: '5' })).message).toContain(
      'max_tokens',
    );
  });

  it('finds an integer despite duplicates and escaped names, the last one winning', () => {
    expect(
      requestOf('{"max_tokens":1.0,"max_tokens":2,"model":"m","messages":[{"role":"user","content":""}]}')
        .maxTokens,
    ).toBe(2);
    const escaped =
      '{"max_tokens":2,"max_\\u0074okens":2.0,"model":"m","messages":[{"role":"user","content":""}]}';
    expect(refusalOf(escaped).message).toContain('max_tokens');
    const nested =
      '{"x":null,"messages":[{"role":"user","content":"{\\"max_tokens\\":1.0}"}],"model":"m","max_tokens":9}';
    expect(requestOf(nested).maxTokens).toBe(9);
  });

  it.each([
    'tools',
    'tool_choice',
    'functions',
    'response_format',
    'logprobs',
    'logit_bias',
    'presence_penalty',
    'frequency_penalty',
    'best_of',
    'Model',
    'constructor',
    '__proto__',
    'toString',
  ])('refuses the field %s as unsupported, by name', (name) => {
    for (const json of ['0', '[]', '{}', '""', 'false', '{"polluted":true}']) {
      const { code, message } = refusalOf(`{"model":"m","messages":${MESSAGES},"${name}":${json}}`);
      expect(code).toBe('unsupported_parameter');
      expect(message).toContain(`Unsupported parameter: ${name}.`);
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('names the first unsupported field of the text, before any other broken rule', () => {
    const { code, message } = refusalOf('{"n":7,"b":1,"7":1,"messages":[]}');
    expect(code).toBe('unsupported_parameter');
    expect(message).toContain('Unsupported parameter: b.');
  });

  it('takes a repeated field whose last value is null, and refuses one whose last value is not', () => {
    const rest = `"model":"m","messages":${MESSAGES}`;
    expect(requestOf(`{"tools":[],"tools":null,${rest}}`).model).toBe('m');
    expect(refusalOf(`{"tools":null,"tools":[],${rest}}`).code).toBe('unsupported_parameter');
  });

  it('takes 100 fields, null and repeated ones included, and no more', () => {
    const nulls = (count: number) => Array.from({ length: count }, (_, i) => `"f${i}":null,`).join('');
    const rest = `"model":"m","messages":${MESSAGES}`;
    expect(requestOf(`{${nulls(98)}${rest}}`).model).toBe('m');
    expect(refusalOf(`{${nulls(99)}${rest}}`)).toEqual({
      code: 'invalid_request',
      message: 'The body must contain at most 100 fields.',
    });
    expect(refusalOf(`{${'"user":"u",'.repeat(99)}${rest}}`).code).toBe('invalid_request');
  });

  it('refuses an unknown member of stream_options by name', () => {
    const refusal = refusalOf(bodyWith({ stream: 'true', stream_options: '{"include_obfuscation":false}' }));
    expect(refusal.code).toBe('unsupported_parameter');
    expect(refusal.message).toContain('stream_options.include_obfuscation');
  });

  it('shows a strange field name quoted and shortened', () => {
    const { message } = refusalOf(bodyWith({ [`a b${'c'.repeat(1_000)}`]: '1' }));
    expect(message).toContain('"a bccc');
    expect(message.length).toBeLessThan(400);
  });

  it('names the first broken field in the order of the contract', () => {
    expect(refusalOf('{"user":1,"temperature":9,"messages":[]}').message).toMatch(/^model /);
    expect(refusalOf('{"user":1,"temperature":9,"messages":[],"model":"m"}').message).toMatch(/^messages /);
    expect(refusalOf(bodyWith({ user: '1', temperature: '9' })).message).toMatch(/^temperature /);
  });

  it('refuses 20 MiB of nested or countless values without building them', () => {
    const half = 10 * 2 ** 20;
    expect(refusalOf('['.repeat(half) + ']'.repeat(half)).code).toBe('invalid_request');
    expect(refusalOf('['.repeat(2 * half)).code).toBe('invalid_json');
    expect(refusalOf(bodyWith({ tools: '['.repeat(half) + ']'.repeat(half) })).code).toBe(
      'unsupported_parameter',
    );
    const deep = refusalOf(bodyWith({ messages: '['.repeat(half) + ']'.repeat(half) }));
    expect(deep).toEqual({
      code: 'invalid_request',
      message: 'The body must contain at most 500000 JSON values.',
    });
    const wide = `[{"role":"user","content":[${'{},'.repeat(5_000_000)}{}]}]`;
    expect(refusalOf(bodyWith({ messages: wide })).code).toBe('invalid_request');
  });

  it('refuses unknown fields, deep nesting and wide objects before anything is parsed', () => {
    const parse = jest.spyOn(JSON, 'parse');
    const fields = Array.from({ length: 100_000 }, (_, i) => `"f${i}":1`).join();
    for (const text of [`{${fields}}`, bodyWith({ tools: `[{${fields}}]` })])
      expect(refusalOf(text).code).toBe('unsupported_parameter');
    const deep = bodyWith({ messages: '['.repeat(101) + ']'.repeat(101) });
    expect(refusalOf(deep).message).toBe('The body must be nested at most 100 deep.');
    const wide = bodyWith({ messages: `[{${'"x":null,'.repeat(100)}"role":"user"}]` });
    expect(refusalOf(wide)).toEqual({
      code: 'invalid_request',
      message: 'An object in the body must have at most 100 members.',
    });
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it('takes a message of 100 members, those set to null included', () => {
    const message = `{${'"x":null,'.repeat(98)}"role":"user","content":"x"}`;
    expect(requestOf(bodyWith({ messages: `[${message}]` })).model).toBe('m');
  });

  it('ignores whatever detail contains, as deep as a body may be nested', () => {
    const withDetail = (depth: number) => {
      const detail = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
      const image = `{"type":"image_url","image_url":{"url":"https://a.example/","detail":${detail}}}`;
      return bodyWith({ messages: `[{"role":"user","content":[${image}]}]` });
    };
    expect(requestOf(withDetail(94)).imageCount).toBe(1);
    expect(refusalOf(withDetail(95)).code).toBe('invalid_request');
  });
});
