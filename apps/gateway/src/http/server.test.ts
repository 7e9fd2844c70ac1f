import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { type Harness, hello, postOf, startHarness, wholeAnswer } from '../testing/harness.ts';

let harness: Harness;
/** Refuses what does not arrive soon. A busy machine may not send that soon. */
let impatient: Harness;
beforeAll(async () => {
  harness = await startHarness();
  impatient = await startHarness({ env: { BODY_TIMEOUT_MS: '300', HEADERS_TIMEOUT_MS: '300' } });
});
afterAll(() => Promise.all([harness.stop(), impatient.stop()]));

/** Sends bytes unchanged and reads until the server closes. */
function raw(text: string, { server } = harness): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(server.port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes;
    });
    // A client that still writes when the connection is closed gets an error, but loses nothing of
    // the answer.
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
  });
}
/**
 * The same for the impatient gateway. If a busy machine delivers the bytes too late, the gateway
 * answers nothing. Then they are sent again.
 */
const rawInTime = (text: string): Promise<string> =>
  eventually(async () => (await raw(text, impatient)) || null);
const codeOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)).error.code;

describe('a path that is not one of the two', () => {
  // Jest gives tests a `process` object of their own, which gets no warnings.
  const real = setTimeout.constructor('return process')() as NodeJS.Process;
  const warnings: string[] = [];
  const note = ({ message }: Error) => void warnings.push(message);
  beforeAll(() => void real.on('warning', note));
  afterAll(() => void real.off('warning', note));

  it.each([
    '/',
    '/v1',
    '/v1/',
    '/v1/models/',
    '/V1/models',
    '/v1/Models',
    '/v1/chat/completions/',
    '//v1/models',
    '/v1/models%2F',
    '/%',
    'http://[',
    'http://a:b/v1/models',
    '//[',
    '*',
  ])('is not found, and Node prints nothing of it: %s', async (path) => {
    const answer = await raw(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
    expect(codeOf(answer)).toBe('not_found');
    expect(answer).toMatch(/x-request-id: req_[0-9A-Za-z]{24}\r\n/i);
    expect(warnings.filter((text) => text.includes('/v1/'))).toEqual([]);
  });

  it('does not include the two paths with a query', async () => {
    const response = await fetch(`${harness.url}/models?x=1`, {
      headers: { authorization: `Bearer ${harness.apiKey}` },
    });
    expect(response.status).toBe(200);
  });
});

it('logs once that X-Forwarded-For is ignored, if no proxy is configured', async () => {
  for (const path of ['/models', '/nowhere'])
    await fetch(harness.url + path, { headers: { 'x-forwarded-for': '192.0.2.1' } });
  expect(harness.logged.filter((line) => line.includes('set TRUSTED_PROXIES'))).toHaveLength(1);
});

describe('requests sent without waiting for answers', () => {
  const last = 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n';

  it('are each answered, dozens at once', async () => {
    const answers = await raw('GET / HTTP/1.1\r\n\r\n'.repeat(50) + last);
    expect(answers.split('HTTP/1.1 404 Not Found')).toHaveLength(52);
  });

  it('end their connection if there are thousands, since all would run in one turn of the event loop', async () => {
    const answers = await raw('GET / HTTP/1.1\r\n\r\n'.repeat(20_000) + last);
    expect(answers.split('HTTP/1.1 404 Not Found').length).toBeLessThan(200);
  });
});

describe('a wrong method', () => {
  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    'is refused on completions with Allow: %s',
    async (method) => {
      const response = await fetch(`${harness.url}/chat/completions`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
      expect(await response.json()).toMatchObject({
        error: { code: 'method_not_allowed', type: 'invalid_request_error' },
      });
    },
  );

  it.each(['POST', 'PUT', 'OPTIONS', 'HEAD'])('is refused on models with Allow: %s', async (method) => {
    const response = await fetch(`${harness.url}/models`, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET');
  });
});

describe('a response', () => {
  it('has no CORS headers, no ETag and no X-Powered-By [auth.servers]', async () => {
    const response = await fetch(`${harness.url}/models`, {
      headers: { authorization: `Bearer ${harness.apiKey}`, origin: 'https://example.com' },
    });
    const names = [...response.headers.keys()];
    expect(names.filter((name) => /^access-control|^etag$|^x-powered-by$/.test(name))).toEqual([]);
  });
});

describe('a connection', () => {
  it('continues with its next request after a body was abandoned half-way', async () => {
    const small = await startHarness({ env: { MAX_BUFFERED_BODY_BYTES: '80000' } });
    const socket = connect(small.server.port, '127.0.0.1');
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes;
    });
    try {
      const head = `Host: x\r\nAuthorization: Bearer ${small.apiKey}\r\n`;
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}Content-Length: 60000\r\n\r\n`);
      // Send pieces that are read one by one. Bytes that arrive together are parsed together, even
      // when paused.
      for (let written = 0; written < 60_000; written += 1_000) {
        socket.write('x'.repeat(1_000));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await eventually(() => received.includes('429'));
      socket.write(`GET /v1/models HTTP/1.1\r\n${head}\r\n`);
      await eventually(() => received.includes('"object":"list"'));
      expect(received).not.toMatch(/connection: close/i);
    } finally {
      socket.destroy();
      await small.stop();
    }
  });
});

describe('headers', () => {
  /** A client that never closes its side by itself. */
  const stubborn = (): Socket =>
    connect({ port: impatient.server.port, host: '127.0.0.1', allowHalfOpen: true });
  /** Resolves when the server no longer accepts data. */
  async function dripUntilReset(socket: Socket): Promise<void> {
    const drip = setInterval(() => socket.write('a'), 20);
    socket.on('error', () => clearInterval(drip));
    await new Promise((resolve) => socket.once('close', resolve));
  }

  it('must arrive in time, or the connection is closed, even if its client keeps it open', async () => {
    const late = `GET /v1/models HTTP/1.1\r\nAuthorization: Bearer ${impatient.apiKey}\r\n`;
    const asked = impatient.limiterServer.of('countRequest').length;
    /** Resolves to null if the bytes arrive too late, and so get no answer. */
    const sentInTime = async (sent: string) => {
      const socket = stubborn();
      socket.write(sent);
      let received = '';
      socket.on('data', (bytes) => {
        received += bytes;
      });
      await once(socket, 'end');
      if (received !== '') return { socket, received };
      socket.destroy();
      return null;
    };
    const refusing = ['POST /v1/chat', 'POST / HTTP/1.1\r\nHost: x\r\n', late].map(async (sent) => {
      const { socket, received } = await eventually(() => sentInTime(sent));
      expect(received).toMatch(/^HTTP\/1.1 408 /);
      expect(codeOf(received)).toBe('request_timeout');
      socket.write('\r\n\r\n');
      await dripUntilReset(socket);
    });
    await Promise.all(refusing);
    expect(impatient.limiterServer.of('countRequest').length).toBe(asked);
  });

  it('that do not begin in time close the connection without an answer, since nothing was asked', async () => {
    expect(await raw('', impatient)).toBe('');
  });

  it('are all read, in any number that fits the size limit', async () => {
    const get = (last: string) =>
      raw(`GET /v1/models HTTP/1.1\r\nConnection: close\r\n${'a:b\r\n'.repeat(5_000)}${last}\r\n`);
    const authorization = `Authorization: Bearer ${harness.apiKey}\r\n`;
    expect(await get(authorization)).toMatch(/^HTTP\/1.1 200 /);
    expect(await get(authorization + authorization)).toMatch(/^HTTP\/1.1 401 /);
    expect(codeOf(await get('a:b\r\n'.repeat(20_000)))).toBe('invalid_request');
  });
});

describe('a body that is not read', () => {
  const head = (length: number, { apiKey } = harness) =>
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Length: ${length}\r\n\r\n`;

  it('does not keep its sender from receiving the answer', async () => {
    const answer = await raw(`${head(30 * 1024 * 1024)}${'x'.repeat(30 * 1024 * 1024)}`);
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(answer).toMatch(/connection: close/i);
    expect(codeOf(answer)).toBe('request_too_large');
  });

  it('completely in time is a 408, and the connection ends', async () => {
    const answer = await rawInTime(`${head(1_000, impatient)}{`);
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer).toMatch(/connection: close/i);
    expect(codeOf(answer)).toBe('request_timeout');
  });

  it('completely in time, though already answered, ends the connection without a second answer', async () => {
    const unauthorized = 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{';
    const answer = await rawInTime(unauthorized);
    expect(answer).toMatch(/^HTTP\/1.1 401 /);
    expect(answer).toMatch(/connection: keep-alive/i);
    expect(answer.match(/HTTP\/1.1 /g)).toHaveLength(1);
  });
});

describe('a client that waits for 100 Continue', () => {
  const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
  const body = JSON.stringify(hello);
  const post = (more: string, { path = '/v1/chat/completions', method = 'POST' } = {}) =>
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${more}\r\n`;
  const authorization = () => `Authorization: Bearer ${harness.apiKey}\r\n`;
  const small = `Content-Length: ${body.length}\r\n`;

  it.each<[string, number, () => string]>([
    ['no key', 401, () => post(small)],
    ['a wrong key', 401, () => post(`Authorization: Bearer nope\r\n${small}`)],
    ['another path', 404, () => post(authorization() + small, { path: '/v1/x' })],
    ['another method', 405, () => post(authorization() + small, { method: 'PUT' })],
    ['too large a body', 413, () => post(`${authorization()}Content-Length: ${30 * 1024 * 1024}\r\n`)],
    ['a compressed body', 400, () => post(`${authorization()}${small}Content-Encoding: gzip\r\n`)],
    ['no free slot for a large body', 429, () => post(`${authorization()}Content-Length: 3000000\r\n`)],
  ])('is refused without it for %s, and the connection is closed', async (_, status, head) => {
    const { takeLargeBody } = harness.limiterServer.answers;
    harness.limiterServer.answers.takeLargeBody = () => ({ takeLargeBody: { result: 'RESULT_FULL' } });
    const answer = await raw(head());
    harness.limiterServer.answers.takeLargeBody = takeLargeBody;
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/connection: close/i);
  });

  it('gets it, then its answer, and the connection is kept', async () => {
    const socket = connect(harness.server.port, '127.0.0.1').setEncoding('utf8');
    let received = '';
    socket.on('data', (text) => {
      received += text;
    });
    for (const answers of [1, 2]) {
      received = '';
      socket.write(post(authorization() + small));
      await eventually(() => received.startsWith(CONTINUE));
      expect([answers, received]).toEqual([answers, CONTINUE]);
      socket.write(body);
      await eventually(() => received.endsWith('}'));
      expect(received).toMatch(/Continue\r\n\r\nHTTP\/1.1 200 /);
    }
    socket.destroy();
  });

  it('and sends its body immediately all the same gets its answer, however large the body', async () => {
    const large = `Content-Length: ${8 * 1024 * 1024}\r\n`;
    const refused = await raw(`${post(large)}${'x'.repeat(8 * 1024 * 1024)}`);
    expect(refused).toMatch(/^HTTP\/1.1 401 /);
    expect(codeOf(refused)).toBe('invalid_api_key');
    const answered = await raw(`${post(`${authorization()}Connection: close\r\n${small}`)}${body}`);
    expect(answered.replace(CONTINUE, '')).toMatch(/^HTTP\/1.1 200 /);
  });

  it('may still send its body after it is refused: its connection is not reset', async () => {
    const socket = connect(harness.server.port, '127.0.0.1');
    const errors: Error[] = [];
    socket.on('error', (error) => errors.push(error));
    socket.write(post(small));
    await once(socket, 'data');
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.write(body);
    await once(socket, 'close');
    expect(errors).toEqual([]);
  });

  it('and does not send its body in time gets a 408', async () => {
    const head = `Authorization: Bearer ${impatient.apiKey}\r\n${small}`;
    const answer = await rawInTime(post(head));
    expect(answer.replace(CONTINUE, '')).toMatch(/^HTTP\/1.1 408 /);
  });
});

describe('draining', () => {
  it('stops accepting, finishes running requests, and ends the rest when its time is over', async () => {
    let finish = () => {};
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const own = await startHarness({
      upstream: async (_request, reply) => {
        await reply.event({ choices: [{ delta: { content: 'a' } }] });
        await Promise.race([waiting, reply.closed]);
        await reply.event({ choices: [{ delta: { content: 'b' }, finish_reason: 'stop' }] });
        await reply.done();
      },
    });
    const response = await own.complete({ ...hello, stream: true });
    const drained = own.server.drain(60_000);
    await expect(fetch(`${own.url}/models`)).rejects.toThrow();
    finish();
    expect(await response.text()).toContain('[DONE]');
    await drained;
    await eventually(() => own.limiterServer.of('settle').length === 1);
    await own.stop().catch(() => {});
  });

  it('answers all requests of a connection that were begun, and begins none behind them', async () => {
    let finish = () => {};
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const own = await startHarness({
      upstream: (_request, reply) => void waiting.then(() => reply.json(wholeAnswer())),
    });
    const request = postOf(own.apiKey, hello);
    const socket = connect(own.server.port, '127.0.0.1').setEncoding('utf8');
    let received = '';
    socket.on('data', (text) => {
      received += text;
    });
    socket.write(request.repeat(2));
    await eventually(() => own.model.requests.length === 2);
    own.server.leave();
    socket.write(request);
    // What was written before is read before.
    expect((await fetch(`${own.url}/models`)).status).toBe(401);
    finish();
    await once(socket, 'close');
    const answers = received.split('HTTP/1.1 200 OK').slice(1);
    expect(answers.map((answer) => /connection: close/i.test(answer))).toEqual([false, true]);
    expect(own.limiterServer.of('admit')).toHaveLength(2);
    await own.stop();
  });

  it('answers the next request of a connection whose answer had begun, and ends the connection with it', async () => {
    let finish = () => {};
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const own = await startHarness({
      upstream: async (request, reply) => {
        if (!request.json().stream) return reply.json(wholeAnswer());
        await reply.event({ choices: [{ delta: { content: 'a' } }] });
        await waiting;
        await reply.event({ choices: [{ delta: { content: 'b' }, finish_reason: 'stop' }] });
        await reply.done();
      },
    });
    const socket = connect(own.server.port, '127.0.0.1').setEncoding('utf8');
    let received = '';
    socket.on('data', (text) => {
      received += text;
    });
    socket.write(postOf(own.apiKey, { ...hello, stream: true }));
    await eventually(() => received.includes('"a"'));
    own.server.leave();
    finish();
    await eventually(() => received.includes('[DONE]'));
    socket.write(postOf(own.apiKey, hello));
    await once(socket, 'close');
    const [, streamed = '', whole = ''] = received.split('HTTP/1.1 200 OK');
    expect([/connection: close/i.test(streamed), /connection: close/i.test(whole)]).toEqual([false, true]);
    await own.stop();
  });

  it('also ends connections that requested a tunnel and read nothing, and counts no such answer as a 200', async () => {
    const own = await startHarness({
      upstream: (_request, reply) => reply.json(wholeAnswer('x'.repeat(2 * 1024 * 1024 - 4096))),
    });
    const request = postOf(own.apiKey, hello);
    const socket = connect(own.server.port, '127.0.0.1').on('error', () => {});
    socket.pause();
    socket.write(`${request.repeat(8)}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`);
    await eventually(() => own.limiterServer.of('settle').length === 8);
    await own.server.drain(100);
    const cut = /requests_total\{[^}]*status="0",code="shutdown"[^}]*\} [1-8]/;
    await eventually(async () => cut.test(await own.metrics.metrics()));
    socket.destroy();
    await own.stop().catch(() => {});
  });
});
