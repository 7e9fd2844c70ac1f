import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '@tidegate/testing';
import {
  callFailure,
  callUnary,
  createLimiterClient,
  type LimiterHandlers,
  limiterService,
} from './index.ts';

async function failureAt(address: string, deadlineMs = 60_000): Promise<string> {
  const client = createLimiterClient(address);
  try {
    const call = callUnary(client, 'getMonth', { orgId: 'org_x' }, { deadlineMs });
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

  it('is that the server speaks another protocol', async () => {
    const server = createServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    expect(await failureAt(`127.0.0.1:${port}`)).toMatch(/^no connection: Protocol error/);
    server.close();
  });

  it('is that no answer came in time, without how the time was spent', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    expect(await failureAt(`127.0.0.1:${port}`, 50)).toBe('no answer in time');
    silent.close();
  });

  it('is that the other service ended the call, as it does when it stops', async () => {
    const server = new Server();
    const cancel: LimiterHandlers['GetMonth'] = () => server.forceShutdown();
    const unused = () => undefined;
    server.addService(limiterService, {
      ...{ Session: unused, RefreshOrgs: unused, RevokeKey: unused, ForgetOrg: unused },
      ...{ FindRequest: unused, ConfirmSettlements: unused, GetMonth: cancel },
    });
    const port = await promisify(server.bindAsync.bind(server))(
      '127.0.0.1:0',
      ServerCredentials.createInsecure(),
    );
    expect(await failureAt(`127.0.0.1:${port}`)).toBe('the other service ended the call');
  });

  it('is what the other service says, or what was thrown', () => {
    expect(callFailure({ code: status.NOT_FOUND, details: 'no such model', message: '5 NOT_FOUND: …' })).toBe(
      'no such model',
    );
    expect(callFailure(new Error('fails'))).toBe('fails');
    expect(callFailure('text')).toBe('text');
  });
});
