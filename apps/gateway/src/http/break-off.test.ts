import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';
import { breakOff } from './break-off.ts';

let harness: Harness;
/** Abandons an answer that is not read soon. A busy machine may not read it that soon. */
let impatient: Harness;
let script: UpstreamHandler;
const sockets: Socket[] = [];

beforeAll(async () => {
  const start = (env: Record<string, string>) =>
    startHarness({ upstream: (request, reply) => script(request, reply), env });
  harness = await start({});
  impatient = await start({ UNREAD_ANSWER_TIMEOUT_MS: '500' });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => Promise.all([harness.stop(), impatient.stop()]));

const MIB = 1024 * 1024;
const END_OF_BODY = '0\r\n\r\n';
const piece = (content: string) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

function requestOf(version: string, body: object, { apiKey } = harness): string {
  const json = JSON.stringify(body);
  return `POST /v1/chat/completions HTTP/${version}\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: ${json.length}\r\n\r\n${json}`;
}
const streamed = (version = '1.1', through = harness) =>
  requestOf(version, { ...hello, stream: true }, through);

async function dial({ port = harness.server.port, allowHalfOpen = false } = {}): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen });
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** Everything that arrives until the server ends the connection, and how the connection ends. */
async function receive(socket: Socket): Promise<{ text: string; end: string }> {
  const pieces: Buffer[] = [];
  try {
    for await (const bytes of socket) pieces.push(bytes as Buffer);
    return { text: Buffer.concat(pieces).toString(), end: 'closed' };
  } catch (error) {
    return { text: Buffer.concat(pieces).toString(), end: (error as NodeJS.ErrnoException).code ?? '' };
  }
}

describe('an answer that breaks off [completions.stream.incomplete]', () => {
  const TEXT = 'x'.repeat(MIB - 1_000);
  const after =
    (text: string): UpstreamHandler =>
    async (_request, reply) => {
      await reply.event(piece(text));
      await reply.event(piece('the last'));
      await reply.done();
    };
  const breaks = after(TEXT);
  /** A summary of the text, so that a failing test does not print all of it. */
  const seen = (text: string) => ({
    chunked: /transfer-encoding: chunked/i.test(text),
    all: text.includes(TEXT) && text.includes('"content":"the last"'),
    ended: text.endsWith(END_OF_BODY) || text.includes('[DONE]'),
  });

  it('arrives as far as it was relayed, then its connection closes without the end of the body', async () => {
    script = breaks;
    const socket = await dial();
    socket.write(streamed());
    const { text, end } = await receive(socket);
    expect([end, seen(text)]).toEqual(['closed', { chunked: true, all: true, ended: false }]);
    await eventually(() => harness.gateway.exchanges.size === 0);
    expect(harness.logged.at(-1)).not.toContain('client_closed');
  });

  it('arrives in full at a client that reads late, however much of it the gateway had buffered', async () => {
    // More than the system's buffers hold.
    const bytes = 64 * MIB;
    const server = createServer((_request, response) => {
      response.write(Buffer.alloc(bytes, 'x'));
      breakOff(response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = await dial({ port: (server.address() as AddressInfo).port });
    socket.pause();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(server, 'request');
    const { text, end } = await receive(socket);
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    expect([end, body.length]).toEqual([
      'closed',
      `${bytes.toString(16)}\r\n`.length + bytes + '\r\n'.length,
    ]);
    server.close();
  });

  it('resets its connection if its body is not chunked: HTTP/1.0', async () => {
    script = breaks;
    const socket = await dial();
    socket.write(streamed('1.0'));
    const { text, end } = await receive(socket);
    expect([end, seen(text)]).toEqual(['ECONNRESET', { chunked: false, all: true, ended: false }]);
  });

  it('waits for its turn on the connection, and requests behind it are not answered', async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    script = async (request, reply) => {
      if (request.json().stream) return after('short')(request, reply);
      await finished;
      reply.json(wholeAnswer('first'));
    };
    const socket = await dial();
    const settles = harness.limiterServer.of('settle').length;
    socket.write(requestOf('1.1', hello) + streamed());
    await eventually(() => harness.limiterServer.of('settle').length === settles + 1);
    const received = receive(socket);
    socket.write(requestOf('1.1', hello));
    finish();
    const { text, end } = await received;
    expect([end, text.match(/HTTP\/1\.1 \d+/g)]).toEqual(['closed', ['HTTP/1.1 200', 'HTTP/1.1 200']]);
    expect(text).toContain('"content":"first"');
    expect(text).toContain('"content":"the last"');
    expect(text.endsWith(END_OF_BODY)).toBe(false);
  });

  it('is abandoned if nobody reads it', async () => {
    script = breaks;
    const unread = await Promise.all(Array.from({ length: 4 }, () => dial({ port: impatient.server.port })));
    for (const socket of unread) {
      socket.pause();
      socket.write(streamed('1.1', impatient).repeat(4));
    }
    await eventually(() => impatient.limiterServer.of('settle').length >= unread.length);
    await eventually(() => impatient.gateway.exchanges.size === 0);
  });

  it.each(['1.1', '1.0'])('closes its connection even if its client does not: HTTP/%s', async (version) => {
    script = breaks;
    const socket = await dial({ port: impatient.server.port, allowHalfOpen: true });
    const over = new Promise((resolve) => socket.once('end', resolve).once('error', resolve));
    socket.write(streamed(version, impatient));
    socket.resume();
    await over;
    await eventually(() => impatient.gateway.exchanges.size === 0);
  });
});
