import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newOrgId } from '@tidegate/contracts';
import { eventually } from '@tidegate/testing';
import { type Harness, startHarness } from '../testing/harness.ts';

const FLOOD = 400;
const sockets: Socket[] = [];
let harness: Harness;
beforeAll(async () => {
  // One connection says nothing until hundreds are open.
  harness = await startHarness({ env: { HEADERS_TIMEOUT_MS: '600000' } });
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  return harness.stop();
});

/** Opens a connection. Calls back with the first answer on it. */
async function open(answered: (answer: string) => void): Promise<Socket> {
  const socket = connect(harness.server.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {}).once('data', (bytes) => answered(String(bytes)));
  await once(socket, 'connect');
  return socket;
}

/** Declares a body that is too large and sends none of it. */
const declare = (socket: Socket, apiKey: string) =>
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: 99999999\r\n\r\n`,
  );

describe('refusals of bodies that are not read', () => {
  it("are sent in each organization's turns, so that a flood for one does not delay those for others", async () => {
    const order: string[] = [];
    const note = (org: string) => (answer: string) => {
      expect(answer).toMatch(/^HTTP\/1.1 413 .*connection: close/is);
      order.push(org);
    };
    const another = harness.addKey({ orgId: newOrgId() });
    const other = await open(note('other'));
    const flood = await Promise.all(Array.from({ length: FLOOD }, () => open(note('flood'))));
    for (const socket of flood) declare(socket, harness.apiKey);
    // The whole flood has arrived. Requests that were answered may be over already.
    const over = () => flood.filter(({ closed }) => closed).length;
    await eventually(() => harness.gateway.exchanges.size + over() === FLOOD);
    const before = order.length;
    declare(other, another);
    await eventually(() => order.includes('other'));
    expect(order.indexOf('other') - before).toBeLessThan((FLOOD - before) / 2);
  });
});
