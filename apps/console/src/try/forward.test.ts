import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Control } from '@tidegate/control';
import { answerTry, type TryDeps } from './forward.ts';

const KEY = 'ti_known';

let api: Server;
let apiUrl: string;
let seen: IncomingHttpHeaders[];
beforeEach(async () => {
  seen = [];
  api = createServer((request, response) => {
    seen.push(request.headers);
    const head = { 'x-request-id': 'req_1' };
    text(request).then((body) => response.writeHead(200, head).end(`answer to ${body}`));
  });
  await once(api.listen(0, '127.0.0.1'), 'listening');
  apiUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
});
afterEach(() => {
  api.closeAllConnections();
  api.close();
});

const tryKey: Control['tryKey'] = async (_actor, { org, key }) => {
  if (org === 'demo') return { ok: true, value: key === KEY };
  const code = org === 'viewed' ? 'forbidden' : 'not_found';
  return { ok: false, refusal: { code, message: 'refused' } };
};
function ask(authorization: string | null, part: Partial<TryDeps> = {}): Promise<Response> {
  const headers = authorization === null ? {} : { authorization };
  const request = new Request('http://console.example/', { method: 'POST', headers, body: '{}' });
  return answerTry(request, {
    control: { tryKey },
    actor: { kind: 'operator' },
    org: 'demo',
    apiUrl,
    ...part,
  });
}

describe('a request from the console', () => {
  it('goes to the API with the key that was entered, and returns its answer', async () => {
    const answer = await ask(`Bearer ${KEY}`);
    expect([answer.status, await answer.text()]).toEqual([200, 'answer to {}']);
    expect(answer.headers.get('x-request-id')).toBe('req_1');
    expect(seen.map(({ authorization }) => authorization)).toEqual([`Bearer ${KEY}`]);
  });

  it.each([null, 'Bearer ti_wrong', 'Bearer ', `Basic ${KEY}`, `Bearer ${KEY} ${KEY}`])(
    'without a key of the organization (%p) is refused as the API would refuse it, and never reaches the API',
    async (authorization) => {
      const answer = await ask(authorization);
      expect(answer.status).toBe(401);
      expect(await answer.json()).toEqual({
        error: { type: 'authentication_error', code: 'invalid_api_key', message: expect.any(String) },
      });
      expect(seen).toEqual([]);
    },
  );

  it.each([
    ['viewed', 403],
    ['elsewhere', 404],
  ])('for the organization %s, where the user may not make it, is answered %i', async (org, status) => {
    expect((await ask(`Bearer ${KEY}`, { org })).status).toBe(status);
    expect(seen).toEqual([]);
  });

  it('gets an error if the gateway is unavailable', async () => {
    const answer = await ask(`Bearer ${KEY}`, { apiUrl: 'http://127.0.0.1:1' });
    expect([answer.status, await answer.json()]).toEqual([
      504,
      { console: 'The gateway could not be reached.' },
    ]);
  });

  it('is streamed to a caller who reads slowly, and breaks off when the API does', async () => {
    const piece = 'x'.repeat(4_000);
    api.removeAllListeners('request').on('request', async (request, response) => {
      request.resume();
      response.writeHead(200, { connection: 'close' });
      for (let sent = 0; sent < PIECES; sent++) {
        response.write(piece);
        await pause(1);
      }
      request.socket.resetAndDestroy();
    });
    for (let time = 0; time < TIMES; time++) {
      const answer = await ask(`Bearer ${KEY}`);
      const reader = answer.body?.getReader();
      expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
      await pause(4 * PIECES);
      await expect(toEnd(reader)).rejects.toThrow();
    }
  });

  it('ends at the API when its caller no longer reads the answer', async () => {
    const gone = new Promise((resolve) => {
      api.removeAllListeners('request').on('request', (request, response) => {
        request.resume();
        response.on('close', resolve).writeHead(200).write('begun');
      });
    });
    const answer = await ask(`Bearer ${KEY}`);
    await answer.body?.cancel();
    await gone;
  });

  it('is given up when the gateway hangs, before or within its answer', async () => {
    api.removeAllListeners('request').on('request', (request) => request.resume());
    const late = await ask(`Bearer ${KEY}`, { silenceMs: 50 });
    expect([late.status, await late.json()]).toEqual([
      504,
      { console: 'The gateway did not answer in time.' },
    ]);
    api.removeAllListeners('request').on('request', (request, response) => {
      request.resume();
      response.writeHead(200).write('begun');
    });
    const answer = await ask(`Bearer ${KEY}`, { silenceMs: 500 });
    const end = answer.text().then(
      () => answer.status,
      () => 'broken off',
    );
    // 504: on a busy machine, the time may be over before the answer begins.
    expect(['broken off', 504]).toContain(await end);
  });

  it('is not redirected', async () => {
    api.removeAllListeners('request').on('request', (request, response) => {
      request.resume();
      response.writeHead(307, { location: `${apiUrl}/other` }).end('x');
    });
    expect((await ask(`Bearer ${KEY}`)).status).toBe(504);
  });
});

const TIMES = 10;
const PIECES = 25;

async function toEnd(reader: ReadableStreamDefaultReader | undefined): Promise<void> {
  while (!(await reader?.read())?.done);
}
