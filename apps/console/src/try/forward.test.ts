import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
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
    request.resume().on('end', () => response.writeHead(200, { 'x-request-id': 'req_1' }).end('answer'));
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
    expect([answer.status, await answer.text()]).toEqual([200, 'answer']);
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
});
