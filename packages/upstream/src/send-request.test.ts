import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, expect, it } from '@jest/globals';
import { type OutgoingRequest, readText, sendRequest } from './send-request.ts';

let server: Server | undefined;
afterEach(() => void server?.close());

/** Sends a request to a server that answers with `answer`. */
async function send(answer: string, body?: OutgoingRequest['body']) {
  server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.end(answer));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return sendRequest({ url, headers: {}, body, signal: AbortSignal.timeout(60_000) });
}

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';

it('a request fails if its answer switches protocols', async () => {
  await expect(send(SWITCH)).rejects.toThrow('no answer');
});

it('a request fails if its body does', async () => {
  const body = new Readable({ read: () => void body.destroy(new Error('the body failed')) });
  await expect(send('HTTP/1.1 200 OK\r\n\r\n', body)).rejects.toThrow();
});

it('a redirect is returned, not followed', async () => {
  const { statusCode } = await send('HTTP/1.1 302 Found\r\nlocation: /other\r\n\r\n');
  expect(statusCode).toBe(302);
});

it.each([
  [1024 * 1024, true],
  [1024 * 1024 + 1, false],
])('the text of a body of %i bytes is read: %p', async (bytes, read) => {
  const text = 'x'.repeat(bytes);
  expect((await readText(await send(`HTTP/1.1 200 OK\r\n\r\n${text}`))) === text).toBe(read);
});
