import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { credentials, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { BoundedChannel } from './bounded-channel.ts';
import { LimiterStub } from './definitions.ts';
import {
  callUnary,
  createLimiterClient,
  type LimiterClient,
  type LimiterHandlers,
  limiterService,
} from './index.ts';

const CONNECT_MS = 200;
const LONG_MS = 60_000;

/** What becomes of a connection: it is broken off, gets no answer, or reaches the server. */
type Fate = 'refused' | 'silent' | 'served';

let server: Server;
let front: ReturnType<typeof createServer>;
let address: string;
/** The fates of the next connections, in order. All later connections share the last one. */
let fates: Fate[];
let sockets: Socket[];
let clients: LimiterClient[];
/** Called with a function that sends the answer. */
let onAsked: (answer: () => void) => void;

beforeEach(async () => {
  server = new Server();
  const unused = () => {};
  const others = { RefreshOrgs: unused, RevokeKey: unused, ForgetOrg: unused, Session: unused };
  const handlers: LimiterHandlers = {
    ...others,
    GetMonth: (_call, callback) => onAsked(() => callback(null, { month: '2026-11' })),
    ConfirmSettlements: unused,
    FindRequest: unused,
  };
  server.addService(limiterService, handlers);
  const behind = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    ),
  );
  fates = ['served'];
  onAsked = (answer) => answer();
  sockets = [];
  clients = [];
  front = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    const fate = fates.length > 1 ? fates.shift() : fates[0];
    if (fate === 'refused') socket.destroy();
    if (fate === 'silent') socket.resume();
    if (fate !== 'served') return;
    const onward = connect(behind, '127.0.0.1');
    socket.pipe(onward).pipe(socket);
    onward.on('error', () => {});
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  address = `127.0.0.1:${(front.address() as AddressInfo).port}`;
});

afterEach(() => {
  for (const client of clients) client.close();
  for (const socket of sockets) socket.destroy();
  front.close();
  server.forceShutdown();
});

/** Waits long for a connection that will be served, which may take a busy machine a while. */
const longIfServed = () => (fates[0] === 'served' ? LONG_MS : CONNECT_MS);
function impatient(connectMs = longIfServed): LimiterClient {
  const client = new LimiterStub(address, credentials.createInsecure(), {
    'grpc.initial_reconnect_backoff_ms': 10,
    channelFactoryOverride: (...how) => new BoundedChannel(...how, connectMs),
  });
  clients.push(client);
  return client;
}
const usual = (): LimiterClient => {
  const client = createLimiterClient(address);
  clients.push(client);
  return client;
};
const ask = (client: LimiterClient, deadlineMs = LONG_MS) =>
  callUnary(client, 'getMonth', { orgId: 'org_1' }, { deadlineMs });
const UNAVAILABLE = { code: status.UNAVAILABLE };

describe('a server that takes connections and says nothing', () => {
  it('is given up on soon, with its connection, and tried again with the next call', async () => {
    fates = ['silent', 'served'];
    const client = impatient();
    await expect(ask(client)).rejects.toMatchObject(UNAVAILABLE);
    await eventually(() => sockets[0]?.closed);
    expect(await ask(client)).toMatchObject({ month: '2026-11' });
    expect(sockets).toHaveLength(2);
  });

  it('is given up on even if it refused connections before', async () => {
    fates = ['refused', 'silent', 'served'];
    const client = impatient();
    await expect(ask(client)).rejects.toMatchObject(UNAVAILABLE);
    // Until then, calls fail immediately.
    await eventually(() => ask(client).catch(() => null));
    expect(sockets).toHaveLength(3);
  });

  it('does not keep other clients from connecting, and its connection ends when its client is closed', async () => {
    fates = ['silent', 'served'];
    const first = usual();
    await expect(ask(first, 100)).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    first.close();
    expect(await ask(usual())).toMatchObject({ month: '2026-11' });
    await eventually(() => sockets[0]?.closed);
  });
});

it('a connection stays open once it is made, and calls on it are still answered after their client is closed', async () => {
  // A busy machine may need more than one attempt to connect in so short a time.
  const client = await eventually(async () => {
    const one = impatient(() => CONNECT_MS);
    await ask(one);
    return one;
  });
  const made = sockets.length;
  fates = ['silent'];
  // This fails only after the time that a connection may take.
  await expect(ask(impatient())).rejects.toMatchObject(UNAVAILABLE);
  const asked = new Promise<() => void>((resolve) => {
    onAsked = resolve;
  });
  const call = ask(client);
  const answer = await asked;
  client.close();
  answer();
  expect(await call).toMatchObject({ month: '2026-11' });
  expect(sockets).toHaveLength(made + 1);
});
