import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { createRedisClient } from './client.ts';

let server: Server | undefined;
afterEach(() => void server?.close());

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`;

/** A Redis that says `times` times that it needs another 9 s to load. */
async function startLoading(times: number): Promise<{ url: string; asked: () => number }> {
  let asked = 0;
  const answer = (command: string): string => {
    if (/^info/i.test(command))
      return bulk(asked++ < times ? 'loading:1\r\nloading_eta_seconds:9' : 'loading:0');
    return /^hello/i.test(command) ? "-ERR unknown command 'HELLO'\r\n" : '+OK\r\n';
  };
  server = createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      const commands = String(data).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g);
      for (const [, command = ''] of commands) socket.write(answer(command));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

it('a client is ready soon after its Redis has loaded its data, however long Redis guessed that would take', async () => {
  const loading = await startLoading(3);
  const client = createRedisClient(loading.url, { lazyConnect: true });
  try {
    await client.connect();
    expect(client.status).toBe('ready');
    expect(loading.asked()).toBe(4);
  } finally {
    client.disconnect();
  }
  // If the client believed these estimates, it would wait 27 s.
});
