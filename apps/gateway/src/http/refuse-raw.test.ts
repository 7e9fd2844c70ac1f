import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';
import { hasBlankAfterName } from './client-error.ts';

let harness: Harness;
let script: UpstreamHandler;
const sockets: Socket[] = [];

beforeAll(async () => {
  harness = await startHarness({ upstream: (request, reply) => script(request, reply) });
});
afterAll(() => harness.stop());
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  harness.limiterServer.calls.length = 0;
});

interface Dialed {
  readonly socket: Socket;
  readonly received: () => string;
}

function dial({ server } = harness): Dialed {
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  // A client that still writes when the connection is closed gets an error, but loses nothing of
  // the answer.
  sockets.push(socket.on('error', () => {}));
  return { socket, received: () => received };
}

/** Sends bytes unchanged and reads until the server closes. */
async function raw(text: string, through = harness): Promise<string> {
  const { socket, received } = dial(through);
  socket.write(text);
  await once(socket, 'end');
  return received();
}
const codeOf = (answer: string) => JSON.parse(answer.slice(answer.lastIndexOf('\r\n\r\n') + 4)).error.code;

describe('a method that Node does not know', () => {
  it.each([
    ['FOO /v1/models', 405, 'GET'],
    ['get /v1/models?x=1', 405, 'GET'],
    ['GETS /v1/chat/completions', 405, 'POST'],
    ['M-SEARCHES /v1/nothing', 404, undefined],
  ])('is refused like any other: %s', async (line, status, allow) => {
    const answer = await raw(`${line} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(/\r\nallow: (\w+)\r\n/.exec(answer)?.[1]).toBe(allow);
    expect(codeOf(answer)).toBe(allow ? 'method_not_allowed' : 'not_found');
  });

  it('is refused without a stall, however long its path is', async () => {
    const before = process.cpuUsage();
    for (let i = 0; i < 4; i++) expect(await raw(`FOO ${'a'.repeat(32 * 1024)}`)).toMatch(/^HTTP\/1.1 400 /);
    expect(process.cpuUsage(before).user).toBeLessThan(1_500_000);
  });

  it('is refused with 429 from a blocked address', async () => {
    harness.gateway.blocked.block('127.0.0.1', 30_000);
    const answer = await raw('FOO /v1/models HTTP/1.1\r\nHost: a\r\n\r\n');
    harness.gateway.blocked.block('127.0.0.1', 0);
    expect(answer).toMatch(/^HTTP\/1.1 429 Too Many Requests\r\n/);
    expect(codeOf(answer)).toBe('rate_limit_exceeded');
  });

  it('is refused behind the answer to an earlier request of the same packet', async () => {
    const get = 'GET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n';
    const answer = await raw(`${get}BREW /v1/models HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 405']);
  });
});

describe('what is not HTTP', () => {
  it('gets an error in the form of the API', async () => {
    const answer = await raw('hello there\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    expect(codeOf(answer)).toBe('invalid_request');
    expect(answer).toMatch(/x-request-id: req_/);
    expect(codeOf(await raw(`GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`))).toBe('invalid_request');
    expect(codeOf(await raw('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'))).toBe('not_found');
  });

  it('includes a header with a blank before its colon, in every version of Node', async () => {
    const answer = await raw('GET /v1/models HTTP/1.1\r\nHost: a\r\nAuthorization : Bearer x\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    expect(codeOf(answer)).toBe('invalid_request');
    expect(['a', 'a ', 'a\t'].map((name) => hasBlankAfterName(['host', 'a ', name, 'b']))).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('is refused with 429 if it requests a tunnel from a blocked address [auth.invalid-keys.block]', async () => {
    const beforeMs = performance.now();
    harness.gateway.blocked.block('127.0.0.1', 30_000);
    const answer = await raw('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    harness.gateway.blocked.block('127.0.0.1', 0);
    expect(answer).toMatch(/^HTTP\/1.1 429 Too Many Requests\r\n/);
    const [, retryAfterS] = /\r\nretry-after: (\d+)\r\n/.exec(answer) ?? [];
    expect(Number(retryAfterS)).toBeLessThanOrEqual(30);
    expect(Number(retryAfterS)).toBeGreaterThanOrEqual(
      Math.ceil(30 - (performance.now() - beforeMs) / 1_000),
    );
    expect(codeOf(answer)).toBe('rate_limit_exceeded');
  });

  it('does no harm if it requests a tunnel and resets the connection', async () => {
    const socket = connect(harness.server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    socket.resetAndDestroy();
    for (let i = 0; i < 10; i++) expect((await fetch(`${harness.url}/models`)).status).toBe(401);
  });

  it('is logged in one line and counted as one request', async () => {
    const series = 'tidegate_gateway_requests_total{route="none",status="400",code="invalid_request"}';
    const counted = async () => {
      const lines = (await harness.metrics.metrics()).split('\n');
      return Number(
        lines
          .find((line) => line.startsWith(series))
          ?.split(' ')
          .at(-1) ?? 0,
      );
    };
    const before = await counted();
    const answer = await raw('my secret words\r\n\r\n');
    const id = /x-request-id: (req_\w+)/.exec(answer)?.[1] ?? '';
    const lines = harness.logged.filter((line) => line.includes(id));
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ requestId: id, route: 'none', status: 400, code: 'invalid_request' }),
    ]);
    expect(lines.join()).not.toContain('secret');
    expect(await counted()).toBe(before + 1);
  });
});

describe('bytes after the requests on a connection that are not a request', () => {
  /** Refuses an unfinished request soon, perhaps even before a busy machine has sent it. */
  let brief: Harness;
  beforeAll(async () => {
    brief = await startHarness({
      env: { HEADERS_TIMEOUT_MS: '300' },
      upstream: (request, reply) => script(request, reply),
    });
  });
  afterAll(() => brief.stop());
  afterEach(() => {
    brief.limiterServer.calls.length = 0;
  });
  const ask = (body: object) => {
    const json = JSON.stringify(body);
    return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${brief.apiKey}\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
  };
  const piece = (content: string, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta: { content }, finish_reason }],
  });
  const statuses = (received: string) =>
    [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  const refusedRaw = () => brief.logged.filter((line) => line.includes('"route":"none"')).length;
  const errors = () => brief.limiterServer.of('settle').map(({ settle }) => settle?.errorCode);
  /**
   * Sends a later request and waits until it times out. By then the gateway has seen everything
   * sent before.
   */
  const seen = () => raw('GET /v1/models HTTP/1.1\r\nHost', brief);

  const KINDS = [
    ['no HTTP', 'hello there\r\n\r\n', '400', 'invalid_request'],
    ['a request that does not end', 'GET /v1/models HTTP/1.1\r\nHost', '408', 'request_timeout'],
    ['a head that is too large', `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`, '400', 'invalid_request'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', '404', 'not_found'],
  ] as const;

  /**
   * Sends three requests followed by bytes that are not a request. The gateway has seen all of them
   * before the model answers.
   */
  async function askedThrice(bytes: string) {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    script = (_request, reply) => answered.then(() => reply.json(wholeAnswer()));
    const { socket, received } = dial(brief);
    socket.write(ask(hello) + ask({ ...hello, model: 'nothing' }) + ask(hello) + bytes);
    await eventually(() => brief.model.inFlight === 2);
    await seen();
    expect(received()).toBe('');
    return { socket, received, answer };
  }
  async function expectAnswered(received: string): Promise<void> {
    expect(statuses(received).slice(0, 3)).toEqual(['200', '404', '200']);
    expect(received.match(/"content":"Hello"/g)).toHaveLength(2);
    await eventually(() => errors().length === 2 && brief.gateway.exchanges.size === 0);
    expect(errors()).toEqual(['', '']);
  }

  const BYTES = KINDS.map(([what, bytes]) => [what, bytes] as const);

  it.each(KINDS)(
    'are refused once, after the whole answers to the requests: %s',
    async (_what, bytes, status, code) => {
      const { socket, received, answer } = await askedThrice(bytes);
      const refusals = refusedRaw();
      answer();
      await once(socket, 'end');
      await expectAnswered(received());
      expect(statuses(received()).slice(3)).toEqual([status]);
      expect(codeOf(received())).toBe(code);
      expect(refusedRaw()).toBe(refusals + 1);
    },
  );

  it.each(BYTES)('do not cut the answers short when the client closes its half: %s', async (_what, bytes) => {
    const { socket, received, answer } = await askedThrice(bytes);
    socket.end('and more');
    // The gateway has noticed, and probes the client with the first byte of the answer.
    await eventually(() => received() !== '');
    answer();
    await once(socket, 'end');
    await expectAnswered(received());
    expect(statuses(received()).length).toBeLessThanOrEqual(4);
  });

  it.each(KINDS)(
    'do not break off the stream before them, however slowly it is read: %s',
    async (...kind) => {
      const [_what, bytes, status] = kind;
      const text = 'x'.repeat(64 * 1024);
      script = async (_request, reply) => {
        for (let sent = 0; sent < 100; sent++) await reply.event(piece(text));
        await reply.event(piece('', 'stop'));
        await reply.done();
      };
      const { socket, received } = dial(brief);
      socket.write(ask({ ...hello, stream: true }));
      await eventually(() => received().includes('xxx'));
      socket.pause();
      socket.write(bytes);
      await seen();
      socket.resume();
      await once(socket, 'end');
      expect(statuses(received())).toEqual(['200', status]);
      expect(received().match(/x{65536}/g)).toHaveLength(100);
      expect(received()).toMatch(/data: \[DONE\]\n\n\r\n0\r\n\r\nHTTP/);
      expect(errors()).toEqual(['']);
    },
  );

  it('do not hide that the client is gone', async () => {
    for (const [, bytes] of KINDS) {
      script = async (_request, reply) => reply.closed;
      brief.limiterServer.calls.length = 0;
      const { socket } = dial(brief);
      socket.write(ask(hello) + bytes);
      await eventually(() => brief.model.inFlight === 1);
      await seen();
      socket.destroy();
      await eventually(() => brief.model.inFlight === 0 && errors().length === 1);
      expect(errors()).toEqual(['client_closed']);
    }
  });
});

describe('a client that sends without reading', () => {
  let impatient: Harness;
  beforeAll(async () => {
    impatient = await startHarness({
      env: { HEADERS_TIMEOUT_MS: '300', UNREAD_ANSWER_TIMEOUT_MS: '1000' },
      upstream: (request, reply) => script(request, reply),
    });
  });
  afterAll(() => impatient.stop());
  const LARGE = 'x'.repeat(2 * 1024 * 1024 - 4096);
  const request = () => {
    const body = JSON.stringify(hello);
    return `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${impatient.apiKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };

  it.each([
    ['no HTTP', 'hello there\r\n\r\n'],
    ['a request that does not end', 'GET /v1/models HTTP/1.1\r\nHost'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('cannot keep its connection open that way: %s', async (_what, bytes) => {
    script = (_request, reply) => reply.json(wholeAnswer(LARGE));
    const { socket } = dial(impatient);
    socket.pause();
    // More answers than the system's own buffers hold.
    socket.write(request().repeat(8) + bytes);
    const drip = setInterval(() => socket.write('x'), 50);
    try {
      await eventually(() => impatient.gateway.exchanges.size > 0);
      await eventually(() => impatient.gateway.exchanges.size === 0);
      await eventually(() => socket.destroyed || socket.writableEnded || socket.errored);
    } finally {
      clearInterval(drip);
    }
  });
});

it('a malformed chunked body is refused in place of its answer', async () => {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${harness.apiKey}\r\n`;
  const answer = await raw(`${head}Transfer-Encoding: chunked\r\n\r\nno size\r\n`);
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  expect(codeOf(answer)).toBe('invalid_request');
  expect(harness.limiterServer.of('admit')).toEqual([]);
});
