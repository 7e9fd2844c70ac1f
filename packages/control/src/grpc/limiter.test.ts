import { type handleUnaryCall, Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type GetMonthRequest__Output, type GetMonthResponse, limiterService } from '@tidegate/rpc';
import { limiterOverGrpc } from './limiter.ts';

type GetMonth = handleUnaryCall<GetMonthRequest__Output, GetMonthResponse>;

/** A limiter that answers does so within this time, also on a busy machine. */
const DEADLINES = { shownMs: 10_000, limiterMs: 10_000, runnerMs: 10_000 };
const servers: Server[] = [];
let askedSilent = 0;
let addresses: string[];

async function limiter(month: GetMonth): Promise<string> {
  const server = new Server();
  servers.push(server);
  const unused = () => {};
  server.addService(limiterService, {
    Session: unused,
    RefreshOrgs: unused,
    RevokeKey: unused,
    ConfirmSettlements: unused,
    GetMonth: month,
  });
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(`127.0.0.1:${port}`),
    ),
  );
}

beforeAll(async () => {
  addresses = [
    await limiter(() => {
      askedSilent++;
    }),
    await limiter((_call, callback) => callback(null, { month: '2026-11', requests: 3 })),
  ];
});
afterAll(() => {
  for (const server of servers) server.forceShutdown();
});

describe('of several limiters', () => {
  it('one that does not answer is waited for once: later calls go to the one that answered last', async () => {
    const options = { deadlines: DEADLINES, random: () => 0, nowMs: () => 0 };
    const port = limiterOverGrpc(addresses, undefined, options);
    for (let i = 0; i < 3; i++) expect((await port.month('org_1')).requests).toBe(3);
    expect(askedSilent).toBe(1);
    port.close();
  });

  it("the last one's failure is the answer if none answers", async () => {
    const port = limiterOverGrpc(['127.0.0.1:1', '127.0.0.1:2']);
    await expect(port.month('org_1')).rejects.toThrow();
    port.close();
  });
});
