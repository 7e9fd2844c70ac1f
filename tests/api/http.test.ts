import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { type Call, COMPLETIONS, call, dial, MODELS, readWire, wire } from '../support/http.ts';
import { ask, newKey, newOrg, publish } from '../support/org.ts';
import { useSharedStack } from '../support/stack.ts';

const stack = useSharedStack();
let standin: Standin;
let key: string;
let addresses = 0;
const base = () => stack().info.gateway;
/**
 * Each address may send 20 requests a minute with an invalid key. So each test uses its own
 * address.
 */
const from = () => ({ 'x-forwarded-for': `198.51.100.${++addresses}` });

beforeAll(async () => {
  standin = await startStandin({ names: ['tide'], contextTokens: 1000 });
  const org = await newOrg(stack());
  await publish(stack(), org, standin.url);
  key = (await newKey(stack(), org)).key;
  await eventually(async () => (await call(base(), { key, body: ask('tide', 'Hi') })).status === 200);
});
afterAll(() => standin?.close());

const errorOf = (code: string, type: string) => ({ error: { message: expect.any(String), type, code } });

describe('an unknown path is 404 not_found, with any method and any key [errors.not_found] [path.unknown] [service.routes] [version.prefix]', () => {
  it.each([
    ...[
      '/',
      '/v1',
      '/v1/',
      '/v2/models',
      '/models',
      '/chat/completions',
      '/v1/completions',
      '/v1/embeddings',
    ],
    ...[
      `${MODELS}/`,
      `${COMPLETIONS}/`,
      `${MODELS}/tide`,
      '/V1/models',
      '/v1/Models',
      '/v1/Chat/Completions',
    ],
    ...[
      '//v1/models',
      '/v1//models',
      '/v1/./models',
      '/v1/%6Dodels',
      '/v1/models%2F',
      '/v1/models%00',
      '/%zz',
    ],
    ...['http://[', 'http://a:b/v1/models', 'http://a/v1', '//['],
    ...['/v1/models;a=b', '/__proto__', '/favicon.ico', '/healthz', '/metrics', '*', '/?/v1/models'],
  ])('%s', async (target) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await call(base(), { method, target });
      expect([method, answer.status, answer.json]).toEqual([
        method,
        404,
        errorOf('not_found', 'invalid_request_error'),
      ]);
      expect(answer.headers['x-request-id']).toMatch(/^req_\w+$/);
    }
  });
});

describe('a wrong method is 405 method_not_allowed, and Allow names the right one [errors.method_not_allowed] [path.method] [service.routes]', () => {
  const METHODS = ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
  it.each([
    ...[...METHODS, 'POST'].map((method) => [method, MODELS, 'GET']),
    ...[...METHODS, 'GET'].map((method) => [method, COMPLETIONS, 'POST']),
  ] as const)('%s %s', async (method = '', target = '', allow = '') => {
    for (const headers of [{}, { authorization: `Bearer ${key}` }] as const) {
      const answer = await call(base(), { method, target, headers });
      expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
      expect(answer.json).toEqual(errorOf('method_not_allowed', 'invalid_request_error'));
    }
  });

  it.each([
    [MODELS, 'GET'],
    [COMPLETIONS, 'POST'],
  ])('also one that is not registered: FETCH %s', async (target, allow) => {
    const answer = await wire(base(), `FETCH ${target} HTTP/1.1\r\nhost: a\r\n\r\n`);
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
    expect(answer.json).toEqual(errorOf('method_not_allowed', 'invalid_request_error'));
  });

  it.each([
    [MODELS, 405, 'GET'],
    [COMPLETIONS, 405, 'POST'],
    ['/v1/nothing', 404, undefined],
  ] as const)('HEAD %s has the status and no body', async (target, status, allow) => {
    const answer = await call(base(), { method: 'HEAD', target, key });
    expect([answer.status, answer.headers.allow, answer.text]).toEqual([status, allow, '']);
  });

  it('sends no CORS headers [auth.servers]', async () => {
    const answer = await call(base(), {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
    });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('a query changes nothing', () => {
  it.each(['?', '?limit=2', '?a[b]=c&__proto__[d]=e', '?%zz', `?key=${'x'.repeat(4000)}`])(
    '%s',
    async (query) => {
      expect((await call(base(), { method: 'GET', target: MODELS + query, key })).status).toBe(200);
      expect((await call(base(), { target: COMPLETIONS + query, key, body: ask('tide', 'Hi') })).status).toBe(
        200,
      );
    },
  );
});

describe('the key', () => {
  const list = (options: Call) => call(base(), { method: 'GET', target: MODELS, ...options });

  it.each([
    ['Bearer [completions.authorization]', (value: string) => `Bearer ${value}`],
    ['any case of bearer', (value: string) => `bEARER ${value}`],
    ['spaces around it', (value: string) => ` Bearer   ${value}  `],
  ])('is taken with %s [models.authorization]', async (_name, written) => {
    expect((await list({ headers: { authorization: written(key) } })).status).toBe(200);
  });

  it.each([
    ['nothing [auth.bearer] [auth.missing]', () => ({})],
    ['an empty value', () => ({ authorization: '' })],
    ['Bearer alone', () => ({ authorization: 'Bearer' })],
    ['Bearer and a space', () => ({ authorization: 'Bearer ' })],
    ['the key alone', () => ({ authorization: key })],
    ['Basic', () => ({ authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` })],
    ['another scheme', () => ({ authorization: `Token ${key}` })],
    ['no space', () => ({ authorization: `Bearer${key}` })],
    ['two keys', () => ({ authorization: `Bearer ${key} ${key}` })],
    ['two keys with a comma', () => ({ authorization: `Bearer ${key}, Bearer ${key}` })],
    ['quotes', () => ({ authorization: `Bearer "${key}"` })],
    [
      'one letter changed [auth.mistyped]',
      () => ({ authorization: `Bearer ${key.slice(0, 10)}${key[10] === 'a' ? 'b' : 'a'}${key.slice(11)}` }),
    ],
    ['the last character missing [auth.mistyped]', () => ({ authorization: `Bearer ${key.slice(0, -1)}` })],
    ['one character too many', () => ({ authorization: `Bearer ${key}a` })],
    ['its letters in upper case', () => ({ authorization: `Bearer ${key.toUpperCase()}` })],
    ['30 KB', () => ({ authorization: `Bearer ti_${'a'.repeat(30_000)}` })],
    ['letters outside ASCII', () => ({ authorization: `Bearer ti_\xe9\xff${key.slice(5)}` })],
    ['another header [auth.bearer]', () => ({ 'x-api-key': key, 'api-key': key })],
  ])(
    'is refused with %s [completions.authorization] [errors.invalid_api_key] [models.authorization]',
    async (_name, headers) => {
      for (const answer of [
        await list({ headers: { ...from(), ...headers() } }),
        await call(base(), { headers: { ...from(), ...headers() }, body: ask('tide', 'Hi') }),
      ]) {
        expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
        expect(answer.json).toEqual(errorOf('invalid_api_key', 'authentication_error'));
        expect(answer.text).not.toContain(key.slice(3, 20));
      }
    },
  );

  it('is refused when it is sent twice', async () => {
    const line = `authorization: Bearer ${key}\r\n`;
    const answer = await wire(
      base(),
      `GET ${MODELS} HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 198.51.100.250\r\nconnection: close\r\n${line}${line}\r\n`,
    );
    expect([answer.status, answer.code]).toEqual([401, 'invalid_api_key']);
  });

  it('is not taken from the query [auth.bearer]', async () => {
    const answer = await list({
      target: `${MODELS}?api_key=${key}&authorization=Bearer%20${key}`,
      headers: from(),
    });
    expect(answer.status).toBe(401);
  });
});

describe('every answer', () => {
  it('has a request id of its own', async () => {
    const answers = await Promise.all([
      call(base(), { key, body: ask('tide', 'Hi') }),
      call(base(), { key, body: ask('tide', 'Hi', { stream: true }) }),
      call(base(), { key, body: ask('nothing', 'Hi') }),
      call(base(), { method: 'GET', target: MODELS, key }),
      call(base(), { method: 'GET', target: MODELS, headers: { ...from(), 'x-request-id': 'mine' } }),
      call(base(), { target: '/nothing' }),
      wire(base(), 'no HTTP at all\r\n\r\n'),
    ]);
    const ids = answers.map(({ headers }) => headers['x-request-id']);
    for (const id of ids) expect(id).toMatch(/^req_\w{8,}$/);
    expect(new Set(ids).size).toBe(answers.length);
  });

  it('says nothing about what serves it', async () => {
    const { headers } = await call(base(), { key, body: ask('tide', 'Hi') });
    for (const name of ['x-powered-by', 'server', 'etag']) expect(headers[name]).toBeUndefined();
  });

  it('that was admitted says how many requests a minute are left', async () => {
    const answer = await call(base(), { key, body: ask('tide', 'Hi') });
    expect(answer.headers).toMatchObject({
      'x-ratelimit-limit-requests': '6000',
      'x-ratelimit-remaining-requests': expect.stringMatching(/^\d+$/),
      'x-ratelimit-reset-requests': expect.stringMatching(/^(\d+ms|[\d.]+s|\d+m[\d.]+s)$/),
    });
  });
});

describe('what is not an HTTP request is refused in the form of the API', () => {
  const AUTH = () => `host: a\r\nauthorization: Bearer ${key}\r\n`;
  it.each([
    ['nonsense', () => 'nonsense\r\n\r\n'],
    ['headers of 64 KiB', () => `GET ${MODELS} HTTP/1.1\r\na: ${'a'.repeat(65_536)}\r\n\r\n`],
    [
      'two lengths',
      () => `POST ${COMPLETIONS} HTTP/1.1\r\n${AUTH()}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
    ],
    [
      'a length and chunks',
      () =>
        `POST ${COMPLETIONS} HTTP/1.1\r\n${AUTH()}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a negative length', () => `POST ${COMPLETIONS} HTTP/1.1\r\n${AUTH()}content-length: -1\r\n\r\n`],
    [
      'a length that is not a number',
      () => `POST ${COMPLETIONS} HTTP/1.1\r\n${AUTH()}content-length: 1e3\r\n\r\n`,
    ],
  ])('%s', async (_name, text) => {
    const answer = await wire(base(), text());
    expect([answer.status, answer.headers.connection]).toEqual([400, 'close']);
    expect(answer.json).toEqual(errorOf('invalid_request', 'invalid_request_error'));
  });

  it('a broken chunk in a body', async () => {
    const answer = await wire(
      base(),
      `POST ${COMPLETIONS} HTTP/1.1\r\n${AUTH()}transfer-encoding: chunked\r\n\r\n5\r\n{"mod\r\nzz\r\n`,
    );
    expect([answer.status, answer.code]).toEqual([400, 'invalid_request']);
  });

  it('CONNECT, which is not a path of the API', async () => {
    const answer = await wire(base(), 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n');
    expect([answer.status, answer.code]).toEqual([404, 'not_found']);
  });

  it('an upgrade, by answering without it', async () => {
    const answer = await call(base(), {
      method: 'GET',
      target: MODELS,
      key,
      headers: { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-key': 'x' },
    });
    expect(answer.status).toBe(200);
  });
});

describe('the body arrives', () => {
  const head = (more: string) =>
    `POST ${COMPLETIONS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n${more}\r\n`;
  const json = JSON.stringify(ask('tide', 'Hi'));

  it('in chunks of a byte', async () => {
    const chunks = [...json].map((byte) => `1\r\n${byte}\r\n`).join('');
    const answer = await wire(
      base(),
      head('connection: close\r\ntransfer-encoding: chunked\r\n'),
      `${chunks}0\r\n\r\n`,
    );
    expect(answer.status).toBe(200);
  });

  it('after 100 Continue', async () => {
    const socket = await dial(base());
    socket.write(head(`connection: close\r\nexpect: 100-continue\r\ncontent-length: ${json.length}\r\n`));
    const [first] = (await new Promise((resolve) =>
      socket.once('data', (piece) => resolve([String(piece)])),
    )) as [string];
    expect(first).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(json);
    expect((await readWire(socket)).status).toBe(200);
  });

  it('without a content type, and with any [completions.content-type]', async () => {
    for (const headers of [
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=utf-8' },
    ]) {
      expect((await call(base(), { key, headers, body: json })).status).toBe(200);
    }
  });

  it('from an HTTP/1.0 client, whose connection is then closed', async () => {
    const whole = await wire(
      base(),
      `POST ${COMPLETIONS} HTTP/1.0\r\nauthorization: Bearer ${key}\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
    );
    expect([whole.status, whole.headers.connection]).toEqual([200, 'close']);
    const streaming = JSON.stringify(ask('tide', 'Hi', { stream: true }));
    const streamed = await wire(
      base(),
      `POST ${COMPLETIONS} HTTP/1.0\r\nauthorization: Bearer ${key}\r\ncontent-length: ${streaming.length}\r\n\r\n${streaming}`,
    );
    expect(streamed.headers['transfer-encoding']).toBeUndefined();
    expect(streamed.text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('but not compressed', async () => {
    const answer = await call(base(), { key, headers: { 'content-encoding': 'gzip' }, body: json });
    expect([answer.status, answer.code]).toEqual([400, 'invalid_request']);
    expect(answer.message).toMatch(/content-encoding/i);
  });
});

describe('a kept connection', () => {
  it('serves request after request, refused ones included', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      const ports = new Set<number | undefined>();
      for (const options of [
        { body: ask('tide', 'Hi'), key },
        { body: ask('nothing', 'Hi'), key },
        { body: '{', key },
        { body: ask('tide', 'Hi', { stream: true }), key },
        { method: 'GET', target: MODELS, key },
        { body: ask('tide', 'Hi'), headers: from() },
        { target: '/nothing', body: 'x'.repeat(60_000) },
        { body: ask('tide', 'Hi'), key },
      ]) {
        await call(base(), { ...options, agent });
        for (const sockets of Object.values(agent.freeSockets)) ports.add(sockets?.[0]?.localPort);
      }
      expect(ports.size).toBe(1);
    } finally {
      agent.destroy();
    }
  });

  it('answers pipelined requests in their order', async () => {
    const get = (target: string, more = '') =>
      `GET ${target} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n${more}\r\n`;
    const socket = await dial(base());
    socket.write(get(MODELS) + get('/nothing') + get(COMPLETIONS, 'connection: close\r\n'));
    let text = '';
    for await (const piece of socket) text += piece;
    expect(text.match(/HTTP\/1\.1 (\d+)/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 405']);
  });

  it('is closed, after the answer, when a large body was not wanted', async () => {
    const socket = await dial(base());
    socket.write(
      `POST /nothing HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(500_000)}`,
    );
    const answer = await readWire(socket);
    expect([answer.status, answer.headers.connection]).toEqual([404, 'close']);
  });
});
