import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, it } from '@jest/globals';
import { ask } from './ask.ts';

let server: Server | undefined;
afterEach(() => void server?.close());

const TIMES = 20;
const PIECE_BYTES = 64 * 1024;
const COMPRESSED = gzipSync(randomBytes(8 * PIECE_BYTES), { level: 1 });

/** Asks a server that answers with `answer`. */
async function asked(
  answer: (socket: Socket) => void,
  body?: object,
  onSent: (request: string) => void = () => {},
): Promise<unknown> {
  server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', (request) => {
      onSent(String(request));
      answer(socket);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const origin = `http://127.0.0.1:${port}`;
    return await ask({ origin, signal: AbortSignal.timeout(60_000) }, '/v1/models', body);
  } finally {
    server.close();
  }
}

it('a connection that ends while its compressed answer arrives does not end the process', async () => {
  for (let time = 0; time < TIMES; time++) {
    const answered = asked(async (socket) => {
      socket.write('HTTP/1.0 200 OK\r\ncontent-encoding: gzip\r\n\r\n');
      for (let at = 0; at < COMPRESSED.length; at += PIECE_BYTES) {
        socket.write(COMPRESSED.subarray(at, at + PIECE_BYTES));
        await pause(1);
      }
      socket.end();
    });
    expect(await answered).toBeUndefined();
  }
});

it.each([
  ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
  ['is cut off', 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{}'],
  ['redirects', 'HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 2\r\n\r\n{}'],
  ['is too large', `HTTP/1.0 200 OK\r\n\r\n"${'x'.repeat(1024 * 1024)}"`],
])('an answer that %s counts as no answer', async (_how, answer) => {
  expect(await asked((socket) => socket.end(answer))).toBeUndefined();
});

it('a question with a body is sent as a POST with JSON', async () => {
  let sent = '';
  const answer = await asked(
    (socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{"a":1}');
    },
    { b: 2 },
    (bytes) => {
      sent = bytes;
    },
  );
  expect(answer).toEqual({ a: 1 });
  expect(sent).toMatch(/^POST \/v1\/models /);
  expect(sent).toMatch(/^content-type: application\/json\r$/im);
  expect(sent).toMatch(/\{"b":2\}$/);
});
