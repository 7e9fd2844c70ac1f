import { createServer } from 'node:net';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '@tidegate/testing';
import { callFailure, callUnary, createLimiterClient } from './index.ts';

async function failureAt(address: string): Promise<string> {
  const client = createLimiterClient(address);
  try {
    const call = callUnary(client, 'getMonth', { orgId: 'org_x' }, { deadlineMs: 60_000 });
    return await call.then(() => 'none', callFailure);
  } finally {
    client.close();
  }
}

describe('the reason of a failed call', () => {
  it('is why there is no connection, without the words of the library', async () => {
    const port = await freePort();
    expect(await failureAt(`127.0.0.1:${port}`)).toBe(
      `no connection: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
  });

  it('is that the host has no address', async () => {
    expect(await failureAt('nowhere.invalid:1')).toBe(
      'Name resolution failed for target dns:nowhere.invalid:1',
    );
  });

  it('tells a server that speaks another protocol', async () => {
    const server = createServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    expect(await failureAt(`127.0.0.1:${port}`)).toMatch(/^no connection: Protocol error/);
    server.close();
  });

  it('is what the other service says, or what was thrown', () => {
    expect(callFailure({ code: status.NOT_FOUND, details: 'no such model', message: '5 NOT_FOUND: …' })).toBe(
      'no such model',
    );
    expect(callFailure(new Error('fails'))).toBe('fails');
    expect(callFailure('text')).toBe('text');
  });
});
