import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';

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

/** A connection that stays open for reading after its own half is closed. */
function dial(): { socket: Socket; received: () => string } {
  const socket = connect({ port: harness.server.port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  sockets.push(socket.on('error', () => {}));
  return { socket, received: () => received };
}

const request = (body: object, version = '1.1') => {
  const json = JSON.stringify(body);
  return `POST /v1/chat/completions HTTP/${version}\r\nHost: x\r\nAuthorization: Bearer ${harness.apiKey}\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
};
const streamed = { ...hello, stream: true };
const piece = (content: string, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
});
const errors = () => harness.limiterServer.of('settle').map(({ settle }) => settle?.errorCode);
/** Decodes a chunked body. Chunk sizes may have leading zeros. */
function dechunked(answer: string): string {
  let rest = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  let body = '';
  for (;;) {
    const [, size = '', after = ''] = /^([0-9a-f]+)\r\n(.*)$/s.exec(rest) ?? [];
    const length = Number.parseInt(size, 16);
    if (!(length > 0)) return body;
    body += after.slice(0, length);
    rest = after.slice(length + 2);
  }
}
/**
 * A model that completes its answer only once `asked` returns true, because a probe has reached the
 * client.
 */
const patient =
  (asked: () => boolean): UpstreamHandler =>
  async (incoming, reply) => {
    const { stream } = incoming.json();
    if (stream) await reply.event(piece('Hel'));
    await eventually(asked);
    if (!stream) return reply.json(wholeAnswer());
    await reply.event(piece('lo', 'stop'));
    await reply.done();
  };
const contents = (body: string) => [...body.matchAll(/"content":"(\w*)"/g)].map(([, text]) => text).join('');

describe('a client that closes its half of the connection and waits [completions.half-closed]', () => {
  it.each(['1.1', '1.0'])('gets its whole answer, and nothing before it, over HTTP/%s', async (version) => {
    const { socket, received } = dial();
    script = patient(() => received().length > 2);
    socket.end(request(hello, version));
    await once(socket, 'end');
    const [head = '', body = ''] = received().split('\r\n\r\n');
    expect(head.split('\r\n')[0]).toBe('HTTP/1.1 200 OK');
    expect(JSON.parse(body).choices[0].message.content).toBe('Hello');
    await eventually(() => errors().length === 1 && harness.gateway.exchanges.size === 0);
    expect(errors()).toEqual(['']);
  });

  it('gets its refusal', async () => {
    const { socket, received } = dial();
    socket.end(request({ ...hello, model: 'nothing' }));
    await once(socket, 'end');
    expect(received()).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
  });

  it('gets its whole stream, whether it closes before or during it', async () => {
    for (const within of [false, true]) {
      const { socket, received } = dial();
      const begun = () => received().includes('Hel');
      script = patient(() => begun() && socket.writableEnded && /\n\r\n0+$/.test(received()));
      if (!within) script = patient(begun);
      if (within) {
        socket.write(request(streamed));
        await eventually(begun);
        socket.end();
      } else socket.end(request(streamed));
      await once(socket, 'end');
      expect(received()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      const body = dechunked(received());
      expect(body.split('\n\n').every((event) => event === '' || event.startsWith('data: '))).toBe(true);
      expect([contents(body), body.endsWith('data: [DONE]\n\n')]).toEqual(['Hello', true]);
    }
  });

  it('gets the answers to all its requests', async () => {
    const { socket, received } = dial();
    script = (_incoming, reply) =>
      eventually(() => received().length > 0).then(() => reply.json(wholeAnswer()));
    socket.end(request(hello) + request({ ...hello, model: 'nothing' }) + request(hello));
    await once(socket, 'end');
    expect(received().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200']);
  });

  it('without a request is disconnected immediately', async () => {
    const [idle, used] = [dial(), dial()];
    const closed = Promise.all([idle, used].map(({ socket }) => once(socket, 'close')));
    idle.socket.end();
    script = (_incoming, reply) => reply.json(wholeAnswer());
    used.socket.write(request(hello));
    await eventually(() => used.received().includes('chat.completion'));
    used.socket.end();
    await closed;
  });
});

describe('a client that is gone', () => {
  const WAYS: [string, (socket: Socket) => void][] = [
    ['closed', (socket) => socket.destroy()],
    ['reset', (socket) => socket.resetAndDestroy()],
    [
      'closed its half, then the other',
      (socket) => {
        socket.once('data', () => socket.destroy());
        socket.end();
      },
    ],
  ];
  it.each(WAYS)(
    'is noticed while its model works on a whole or a streamed answer: it has %s',
    async (_way, leave) => {
      for (const body of [hello, streamed]) {
        script = async (incoming, reply) => {
          if (incoming.json().stream) await reply.event(piece('Hel'));
          await reply.closed;
        };
        harness.limiterServer.calls.length = 0;
        const { socket, received } = dial();
        socket.write(request(body));
        await eventually(() => (body === hello ? harness.model.inFlight === 1 : received().includes('Hel')));
        leave(socket);
        await eventually(() => harness.model.inFlight === 0 && errors().length === 1);
        expect(errors()).toEqual(['client_closed']);
      }
    },
  );
});
