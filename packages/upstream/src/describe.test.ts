import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { describeServer } from './describe.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Describes a server with these answers, by path. Every other path gets a 404. */
async function described(answers: Readonly<Record<string, (response: ServerResponse) => void>>) {
  server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    if (answer) answer(response);
    else response.writeHead(404).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return describeServer({ origin, signal: AbortSignal.timeout(30_000) });
}

const json = (body: unknown) => (response: ServerResponse) => response.end(JSON.stringify(body));
const list = (data: readonly unknown[]) => json({ object: 'list', data });

/** Counts how often `work` reads a member that plain objects lack. */
async function lacking(member: string, work: () => Promise<unknown>): Promise<number> {
  let reads = 0;
  Object.defineProperty(Object.prototype, member, { configurable: true, get: () => void reads++ });
  try {
    await work();
  } finally {
    Reflect.deleteProperty(Object.prototype, member);
  }
  return reads;
}

describe('a server with long lists', () => {
  const models = Array.from({ length: 100 }, (_, i) => ({ id: `m${i}` }));
  const nameless = Array(2_000).fill({});

  it.each([
    ['Ollama', { '/api/version': json({ version: '1' }), '/api/ps': json({ models: nameless }) }, 'model'],
    ['LM Studio', { '/api/v0/models': list([{ state: 'loaded' }, ...nameless]) }, 'id'],
  ])('%s: has its list read in one pass, not once for each model', async (name, answers, member) => {
    let found: Awaited<ReturnType<typeof described>>;
    const reads = await lacking(member, async () => {
      found = await described({ '/v1/models': list(models), ...answers });
    });
    expect(found?.server).toBe(name);
    expect(found?.models).toHaveLength(100);
    expect(reads).toBeGreaterThanOrEqual(2_000);
    expect(reads).toBeLessThan(10_000);
  });
});
