import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@tidegate/runtime';
import { eventually } from '@tidegate/testing';
import { CLIENT_ADDRESS_HEADER, NONCE_HEADER, PATH_HEADER } from './names.ts';
import { QUEUE_LIMITS } from './request-queue.ts';
import { type Site, startSite } from './server.ts';

let site: Site | undefined;
const logged: string[] = [];
/** Screens that take until the test ends them, and how many of them were under way at once. */
const slow = { now: 0, most: 0, done: [] as (() => void)[] };
beforeEach(() => {
  Object.assign(slow, { now: 0, most: 0, done: [] });
});
afterEach(() => site?.close());

async function start(consoleUrl: string, queueLimits = QUEUE_LIMITS): Promise<string> {
  site = await startSite({
    host: '127.0.0.1',
    port: 0,
    consoleUrl,
    formOrigins: [],
    trustedProxies: 0,
    queueLimits,
    drainMs: 60_000,
    logger: createLogger({
      service: 'test',
      level: 'warn',
      destination: { write: (line) => logged.push(line) },
    }),
    handle: async (request, response) => {
      if (request.url === '/fails') throw new Error('fails');
      if (request.url === '/stops') {
        const reader = new Writable({ highWaterMark: 1, write: () => response.end() });
        return void request.pipe(reader);
      }
      if (request.url === '/slow') {
        slow.most = Math.max(slow.most, ++slow.now);
        await new Promise<void>((resolve) => slow.done.push(resolve));
        slow.now--;
      }
      response.end(JSON.stringify(request.headers));
    },
  });
  return `http://127.0.0.1:${site.port}`;
}

describe('the site', () => {
  it('sends a content security policy with a new nonce for each answer, and passes the nonce to the screens', async () => {
    const url = await start('http://console.example');
    const answers = [await fetch(url), await fetch(url)];
    const policies = answers.map(({ headers }) => headers.get('content-security-policy'));
    expect(policies[0]).not.toBe(policies[1]);
    const told = (await answers[0]?.json()) as Record<string, string>;
    expect(policies[0]).toContain(`'nonce-${told[NONCE_HEADER]}'`);
    expect(policies[0]).not.toContain('upgrade-insecure-requests');
    expect(answers[0]?.headers.get('strict-transport-security')).toBeNull();
  });

  it('keeps browsers on https if the console uses https', async () => {
    const { headers } = await fetch(await start('https://console.example'));
    expect(headers.get('strict-transport-security')).toContain('max-age=');
    expect(headers.get('content-security-policy')).toContain('upgrade-insecure-requests');
  });

  it('ignores its internal headers from clients', async () => {
    const url = await start('http://console.example');
    const forged = {
      [NONCE_HEADER]: 'forged',
      [CLIENT_ADDRESS_HEADER]: 'forged',
      [PATH_HEADER]: 'forged',
      'content-security-policy': 'forged',
    };
    const told = (await (await fetch(`${url}/o/demo?a=b`, { headers: forged })).json()) as object;
    expect(JSON.stringify(told)).not.toContain('forged');
    expect(told).toMatchObject({ [CLIENT_ADDRESS_HEADER]: '127.0.0.1', [PATH_HEADER]: '/o/demo?a=b' });
  });

  it.each([
    ['POST', { origin: 'http://console.example' }, 200],
    ['POST', { 'sec-fetch-site': 'same-origin' }, 200],
    ['POST', { origin: 'https://console.example' }, 403],
    ['POST', { origin: 'http://elsewhere.example', 'sec-fetch-site': 'cross-site' }, 403],
    ['POST', { origin: 'null' }, 403],
    ['POST', { 'sec-fetch-site': 'same-site' }, 403],
    ['POST', {}, 403],
    ['PUT', {}, 403],
    ['GET', { origin: 'http://elsewhere.example' }, 200],
  ])(
    'lets only its own pages change anything: %s with %j is answered %i',
    async (method, headers, status) => {
      const url = await start('http://console.example');
      expect((await fetch(url, { method, headers })).status).toBe(status);
    },
  );

  it.each([
    ['POST', { origin: 'http://console.example' }, 'console.example'],
    ['POST', { origin: 'http://console.example', 'x-forwarded-host': 'inner' }, 'console.example'],
    ['POST', { origin: 'http://10.0.0.1:3000', 'sec-fetch-site': 'same-origin' }, '10.0.0.1:3000'],
    ['POST', { origin: 'null', 'sec-fetch-site': 'same-origin' }, undefined],
    ['POST', { 'sec-fetch-site': 'same-origin' }, undefined],
    ['GET', { origin: 'http://elsewhere.example' }, undefined],
  ])(
    'makes the screens accept a change from its own pages, whatever host a proxy names: %s with %j is for %s',
    async (method, headers, host) => {
      const answer = await fetch(await start('http://console.example'), { method, headers });
      expect(((await answer.json()) as Record<string, string>)['x-forwarded-host']).toBe(host);
    },
  );

  it("logs once that X-Forwarded-For is ignored, if no proxy is configured, but not for the framework's own requests", async () => {
    const url = await start('http://console.example');
    const warnings = () => logged.filter((line) => line.includes('set TRUSTED_PROXIES'));
    // When an action redirects, the framework asks for that page with the headers of the action.
    const own = { 'x-forwarded-for': '192.0.2.1', [CLIENT_ADDRESS_HEADER]: '192.0.2.1' };
    await fetch(url, { headers: own });
    expect(warnings()).toEqual([]);
    for (const path of ['/', '/o']) await fetch(url + path, { headers: { 'x-forwarded-for': '192.0.2.1' } });
    expect(warnings()).toHaveLength(1);
  });

  it.each([
    ...['/%', '/%zz', '/o/%zz/keys', '/%ff', '/o/demo?key=%00', '/o/demo/%00', '/o/demo?q=100%'],
    'ftp://elsewhere.example/',
  ])(
    'answers 400 to an address that is not a path or not text, without asking a screen: %s',
    async (path) => {
      const { port } = new URL(await start('http://console.example'));
      const [response] = await once(get({ host: '127.0.0.1', port, path }), 'response');
      expect(response.statusCode).toBe(400);
      expect((await response.toArray()).join('')).toBe('Bad request: invalid path.\n');
    },
  );

  it.each([
    ['http://elsewhere.example/o/demo?a=b', '/o/demo?a=b'],
    ['HTTPS://elsewhere.example', '/'],
    ['http://elsewhere.example?a=b', '/?a=b'],
  ])('takes only the path of an address, whichever host it names: %s', async (address, path) => {
    const { hostname, port } = new URL(await start('http://console.example'));
    const asked = get({ hostname, port, path: address });
    const [answer] = await once(asked, 'response');
    expect(JSON.parse(await text(answer))[PATH_HEADER]).toBe(path);
  });

  it('calls itself by the scheme it listens with, whatever scheme a proxy says that its callers use', async () => {
    const url = await start('https://console.example');
    const told = (await (await fetch(url, { headers: { 'x-forwarded-proto': 'https' } })).json()) as object;
    expect(told).not.toHaveProperty('x-forwarded-proto');
  });

  it('accepts an address with percent-encoded text', async () => {
    const url = await start('http://console.example');
    for (const path of ['/o/d%C3%A9mo', '/?q=100%25', '/?a=%2500', '/?%F0%9F%94%91=+'])
      expect((await fetch(url + path)).status).toBe(200);
  });

  it('begins the requests of a connection one after another', async () => {
    const { port } = new URL(await start('http://console.example'));
    const client = connect(Number(port), '127.0.0.1');
    client.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10));
    client.write('GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const answers = text(client);
    for (let i = 0; i < 10; i++) {
      await eventually(() => slow.done.length > i);
      slow.done[i]?.();
    }
    expect((await answers).split('HTTP/1.1 200 OK')).toHaveLength(12);
    expect(slow.most).toBe(1);
  });

  it('answers the next request of a connection even after a body that was not read to its end', async () => {
    const { port } = new URL(await start('http://console.example'));
    const client = connect(Number(port), '127.0.0.1');
    const head = 'Host: x\r\nOrigin: http://console.example\r\nContent-Type: application/json\r\n';
    const bytes = 4 * 1024 * 1024;
    client.write(`POST /stops HTTP/1.1\r\n${head}Content-Length: ${bytes}\r\n\r\n`);
    client.write('x'.repeat(bytes));
    client.write('GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect((await text(client)).split('HTTP/1.1 200 OK')).toHaveLength(3);
  });

  it('ends a connection that asks for thousands of screens at once', async () => {
    const { port } = new URL(await start('http://console.example'));
    const client = connect(Number(port), '127.0.0.1').on('error', () => {});
    client.resume().write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5_000));
    await new Promise((resolve) => client.once('close', resolve));
    for (const done of slow.done) done();
    expect(slow.most).toBeLessThanOrEqual(1);
  });

  it('answers 503 to an address that has too many requests waiting', async () => {
    const url = await start('http://console.example', { atOnce: 3, maxWaiting: 2, countedMs: 2 ** 30 });
    const statuses: number[] = [];
    const asked = Array.from({ length: 8 }, async () => statuses.push((await fetch(`${url}/slow`)).status));
    await eventually(() => statuses.length === 3 && slow.now === 3);
    for (let i = 0; i < 5; i++) {
      await eventually(() => slow.done.length > i);
      slow.done[i]?.();
    }
    await Promise.all(asked);
    expect(statuses).toEqual([503, 503, 503, 200, 200, 200, 200, 200]);
    expect(slow.most).toBe(3);
  });

  it('ends each connection with its answer once it leaves', async () => {
    const url = await start('http://console.example');
    const under = fetch(`${url}/slow`);
    await eventually(() => slow.done.length === 1);
    site?.leave();
    slow.done[0]?.();
    for (const answer of [await under, await fetch(url)]) {
      expect(answer.headers.get('connection')).toBe('close');
      await answer.text();
    }
  });

  it('closes with the last answer, even if its connection was to be kept open', async () => {
    const url = await start('http://console.example');
    const agent = new Agent({ keepAlive: true });
    try {
      const request = get(`${url}/slow`, { agent });
      await eventually(() => slow.done.length === 1);
      const closed = site?.close();
      slow.done[0]?.();
      const [answer] = await once(request, 'response');
      expect(await text(answer)).toContain('"host"');
      await closed;
    } finally {
      site = undefined;
      agent.destroy();
    }
  }, 30_000);

  it('answers 500 without a reason when a screen fails', async () => {
    const response = await fetch(`${await start('http://console.example')}/fails`);
    expect(response.status).toBe(500);
    expect(await response.text()).toBe('Something went wrong.\n');
  });
});
