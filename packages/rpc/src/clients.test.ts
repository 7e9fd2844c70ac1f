import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TcpProxy } from '@tidegate/testing';
import {
  callUnary,
  createLimiterClient,
  createRunnerClient,
  type LimiterClient,
  type LimiterHandlers,
  limiterService,
  runnerService,
  type SessionRequest__Output,
} from './index.ts';

const PLENTY_MS = 60_000;

const handlers: LimiterHandlers = {
  GetMonth: (call, callback) =>
    callback(null, { month: '2026-11', requests: 2 ** 40, inFlight: call.request.orgId.length }),
  RefreshOrgs: () => {}, // never answers
  RevokeKey: (call, callback) =>
    callback({ code: status.INVALID_ARGUMENT, details: `${call.request.keyHash.length} bytes of hash` }),
  ForgetOrg: (_call, callback) => callback(null, {}),
  ConfirmSettlements: (_call, callback) => callback(null, {}),
  FindRequest: (_call, callback) => callback(null, { state: 'STATE_OPEN' }),
  Session: (call) => {
    call.on('data', (request: SessionRequest__Output) =>
      call.write({ replies: request.calls.map(({ callId }) => ({ callId, settle: {} })) }),
    );
    call.on('end', () => call.end());
  },
};

describe('gRPC clients', () => {
  const server = new Server();
  let address: string;
  let client: LimiterClient;

  beforeAll(async () => {
    server.addService(limiterService, handlers);
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    address = `127.0.0.1:${port}`;
    client = createLimiterClient(address);
  });

  afterAll(() => {
    client.close();
    server.forceShutdown();
  });

  it('carry 64-bit numbers as numbers and fill in defaults', async () => {
    const month = await callUnary(client, 'getMonth', { orgId: 'org_x' }, { deadlineMs: PLENTY_MS });
    expect(month).toMatchObject({ month: '2026-11', requests: 2 ** 40, chargedTokens: 0, inFlight: 5 });
  });

  it('reject with the status the server gave', async () => {
    const call = callUnary(client, 'revokeKey', { keyHash: Buffer.alloc(32) }, { deadlineMs: PLENTY_MS });
    await expect(call).rejects.toMatchObject({ code: status.INVALID_ARGUMENT, details: '32 bytes of hash' });
  });

  it('give up at the deadline and on abort', async () => {
    await expect(callUnary(client, 'refreshOrgs', {}, { deadlineMs: 50 })).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
    const signal = AbortSignal.abort();
    await expect(callUnary(client, 'refreshOrgs', {}, { deadlineMs: 60_000, signal })).rejects.toMatchObject({
      code: status.CANCELLED,
    });
  });

  it('connect directly, whatever proxy the environment names', async () => {
    const { http_proxy } = process.env;
    process.env.http_proxy = 'http://127.0.0.1:1';
    const direct = createLimiterClient(address);
    try {
      const month = callUnary(direct, 'getMonth', { orgId: 'org_x' }, { deadlineMs: PLENTY_MS });
      expect(await month).toMatchObject({ month: '2026-11' });
    } finally {
      direct.close();
      if (http_proxy === undefined) delete process.env.http_proxy;
      else process.env.http_proxy = http_proxy;
    }
  });

  it('say which member of a oneof was sent', async () => {
    const session = client.session();
    const reply = new Promise((resolve) => session.once('data', resolve));
    session.write({ calls: [{ callId: 7, heartbeat: { instanceId: 'gw_1' } }] });
    expect(await reply).toMatchObject({ replies: [{ callId: 7, outcome: 'settle', settle: {} }] });
    const ended = new Promise((resolve) => session.once('end', resolve));
    session.end();
    await ended;
  });
});

describe('a client of runners', () => {
  /** How long a runner's lease lasts. */
  const LEASE_MS = 8_000;
  const TICK_MS = 100;

  /** Resolves to null after `ms`, not counting time in which this process stood still. */
  function awake(ms: number): Promise<null> {
    let ticks = 0;
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        if (++ticks < ms / TICK_MS) return;
        clearInterval(timer);
        resolve(null);
      }, TICK_MS);
      timer.unref();
    });
  }

  it('notices a runner that hangs by the time another one can lead', async () => {
    const server = new Server();
    const unused = () => {};
    const unary = { Wake: unused, Start: unused, Stop: unused, Refresh: unused, ListActivity: unused };
    server.addService(runnerService, {
      ...unary,
      Inspect: unused,
      CheckWorkload: unused,
      GetRoom: unused,
      Watch: (call: { write(update: object): void }) => call.write({ revision: 1 }),
    });
    const behind = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      ),
    );
    const proxy = await TcpProxy.start(behind);
    const client = createRunnerClient(`127.0.0.1:${proxy.port}`);
    const watch = client.watch();
    const ended = new Promise((resolve) => watch.once('error', resolve));
    await new Promise((resolve) => watch.once('data', resolve));
    // As if the process were stopped: its connections stay open.
    proxy.hang();
    expect(await Promise.race([ended, awake(LEASE_MS)])).toMatchObject({
      code: status.UNAVAILABLE,
    });
    client.close();
    await proxy.stop();
    server.forceShutdown();
  });
});
