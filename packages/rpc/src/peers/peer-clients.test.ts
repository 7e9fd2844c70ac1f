import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  callUnary,
  createLimiterClient,
  type LimiterClient,
  limiterService,
  PeerClients,
  Peers,
} from '../index.ts';

const servers: Server[] = [];
const unused = () => {};

async function serve(requests: number): Promise<string> {
  const server = new Server();
  servers.push(server);
  server.addService(limiterService, {
    Session: unused,
    RefreshOrgs: unused,
    RevokeKey: unused,
    ConfirmSettlements: unused,
    ForgetOrg: unused,
    GetMonth: (_call: unknown, callback: (error: null, month: object) => void) =>
      callback(null, { month: '2026-11', requests }),
  });
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(`127.0.0.1:${port}`),
    ),
  );
}

let first: string;
let second: string;
beforeAll(async () => {
  first = await serve(1);
  second = await serve(2);
});
afterAll(() => {
  for (const server of servers) server.forceShutdown();
});

const month = async (client: LimiterClient) =>
  (await callUnary(client, 'getMonth', { orgId: 'org_1' }, { deadlineMs: 60_000 })).requests;

describe('the clients of interchangeable servers', () => {
  it('follow what DNS says, and move on from a server that is gone to the next', async () => {
    let nowMs = 0;
    let found = ['10.0.0.1'];
    const places: Record<string, string> = { '10.0.0.1:7100': first, '10.0.0.2:7100': second };
    const peers = new Peers({
      addresses: ['limiter:7100'],
      resolve: async () => found,
      random: () => 0,
      nowMs: () => nowMs,
    });
    const connected: string[] = [];
    const clients = new PeerClients({
      peers,
      connect: ({ address }) => {
        connected.push(address);
        return createLimiterClient(places[address] ?? '127.0.0.1:1');
      },
    });
    expect(await clients.call(month)).toBe(1);
    found = ['10.0.0.3', '10.0.0.2'];
    expect(await clients.call(month)).toBe(1);
    nowMs += 10_000;
    await expect(clients.call(month, 1)).rejects.toThrow();
    expect(await clients.call(month, 1)).toBe(2);
    expect(connected).toEqual(['10.0.0.1:7100', '10.0.0.3:7100', '10.0.0.2:7100']);
    clients.close();
  });

  it('make a call that comes during the first look-up wait until the look-up ends', async () => {
    let answer = (_ips: string[]) => {};
    const peers = new Peers({
      addresses: ['limiter:7100'],
      resolve: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      random: () => 0,
      nowMs: () => 0,
    });
    const clients = new PeerClients({ peers, connect: () => createLimiterClient(first) });
    const both = Promise.all([clients.call(month), clients.call(month)]);
    answer(['10.0.0.1']);
    expect(await both).toEqual([1, 1]);
    clients.close();
  });

  it('say so when no address is known', async () => {
    const peers = new Peers({
      addresses: ['nowhere:1'],
      resolve: () => Promise.reject(new Error('ENOTFOUND')),
      random: () => 0,
      nowMs: () => 0,
    });
    const clients = new PeerClients({ peers, connect: ({ address }) => createLimiterClient(address) });
    await expect(clients.call(month)).rejects.toThrow('no server address is known');
  });
});
