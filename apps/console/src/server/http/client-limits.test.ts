import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@tidegate/runtime';
import { eventually } from '@tidegate/testing';
import { CLIENT_LIMITS, type ClientLimits } from './client-limits.ts';
import { type Site, startSite } from './server.ts';

const FORM = 'POST / HTTP/1.1\r\nHost: a\r\nOrigin: http://console.example\r\n';
/** Long enough for no test to reach it. */
const NEVER_MS = 600_000;

let site: Site;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await site.close();
});

/** Resolves to what was read of each body. */
async function start(limits: Partial<ClientLimits>): Promise<number[]> {
  const read: number[] = [];
  site = await startSite({
    host: '127.0.0.1',
    port: 0,
    consoleUrl: 'http://console.example',
    formOrigins: [],
    trustedProxies: 0,
    logger: createLogger({ service: 'test', level: 'silent' }),
    handle: async (request, response) => {
      read.push((await buffer(request)).length);
      response.end('done');
    },
    limits: { ...CLIENT_LIMITS, headersMs: NEVER_MS, requestMs: NEVER_MS, ...limits },
  });
  return read;
}

/**
 * Sends bytes, and resolves to everything that has come back once the server closes the connection.
 */
async function endOf(sent: string): Promise<string> {
  const socket = connect(site.port, '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  socket.write(sent);
  await once(socket, 'close');
  return received;
}

describe('a client of the console', () => {
  it.each([
    ['headers', { headersMs: 100, requestMs: NEVER_MS }, 'GET / HTTP/1.1\r\nHost: a\r\n'],
    ['a body', { headersMs: 100, requestMs: 200 }, `${FORM}Content-Length: 9\r\n\r\nhalf`],
  ])('that does not finish %s in time gets 408, and its connection ends', async (_what, limits, sent) => {
    await start(limits);
    expect(await endOf(sent)).toMatch(/^HTTP\/1.1 408 /);
  });

  it('that gets no answer is disconnected after a while', async () => {
    await start({ silentMs: 400 });
    expect(await endOf(`${FORM}Content-Length: 9\r\n\r\nhalf`)).toBe('');
  });

  it('that announces too large a body gets 413 before it is read', async () => {
    const read = await start({ maxBodyBytes: 10, maxFormBytes: 10 });
    expect(await endOf(`${FORM}Content-Length: 11\r\n\r\n`)).toMatch(/^HTTP\/1.1 413 /);
    expect(read).toEqual([]);
  });

  it('may send more as JSON, unless it asks for an action', async () => {
    const read = await start({ maxFormBytes: 10, maxBodyBytes: 12 });
    const json = `${FORM}Connection: close\r\nContent-Type: application/json\r\n`;
    expect(await endOf(`${json}Content-Length: 12\r\n\r\n012345678901`)).toContain('200 OK');
    expect(await endOf(`${json}Content-Length: 13\r\n\r\n`)).toMatch(/^HTTP\/1.1 413 /);
    const action = `${json}Next-Action: a\r\nContent-Length: 11\r\n\r\n`;
    expect(await endOf(`${action}01234567890`)).toMatch(/^HTTP\/1.1 413 /);
    expect(read).toEqual([12]);
  });

  it('whose form is too large still gets an answer to the next request of the connection', async () => {
    const read = await start({ maxFormBytes: 10 });
    const form = `${FORM}Content-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`;
    const next = `${FORM}Connection: close\r\nContent-Length: 2\r\n\r\nhi`;
    expect(await endOf(form + next)).toMatch(/^HTTP\/1.1 413 .*HTTP\/1.1 200 OK/s);
    expect(read).toEqual([2]);
  });

  it('that sends more than it may without announcing it is cut off, and one within the limit is served', async () => {
    const read = await start({ maxFormBytes: 10 });
    const chunked = `${FORM}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    expect(await endOf(`${chunked}b\r\n01234567890\r\n0\r\n\r\n`)).not.toContain('200');
    expect(read).toEqual([]);
    expect(await endOf(`${chunked}5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n`)).toContain('200 OK');
    expect(read).toEqual([10]);
  });

  it('is refused while as many clients as allowed are connected', async () => {
    await start({ maxConnections: 1 });
    const first = connect(site.port, '127.0.0.1').on('error', () => {});
    sockets.push(first);
    await once(first, 'connect');
    expect(await endOf('')).toBe('');
    first.destroy();
    await eventually(
      async () => (await endOf('GET / HTTP/1.1\r\nConnection: close\r\nHost: a\r\n\r\n')) !== '',
    );
  });
});
