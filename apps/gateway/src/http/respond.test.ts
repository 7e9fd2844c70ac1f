import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newOrgId } from '@tidegate/contracts';
import { eventually } from '@tidegate/testing';
import { type Harness, startHarness } from '../testing/harness.ts';

const FLOOD = 60;
const sockets: Socket[] = [];
let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  return harness.stop();
});

/** Declares a body that is too large, sends none of it, and calls back with the answer. */
function declare(apiKey: string, answered: (answer: string) => void): void {
  const socket = connect(harness.server.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {}).once('data', (bytes) => answered(String(bytes)));
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\ncontent-length: 99999999\r\n\r\n`,
  );
}

describe('refusals of bodies that are not read', () => {
  it("leave in an organization's turns, so that a flood of them does not delay others'", async () => {
    const order: string[] = [];
    const another = harness.addKey({ orgId: newOrgId() });
    const note = (org: string) => (answer: string) => {
      expect(answer).toMatch(/^HTTP\/1.1 413 .*connection: close/is);
      order.push(org);
    };
    for (let i = 0; i < FLOOD; i++) declare(harness.apiKey, note('flood'));
    await eventually(() => order.length > 0);
    declare(another, note('other'));
    await eventually(() => order.length === FLOOD + 1);
    expect(order[0]).toBe('flood');
    expect(order.indexOf('other')).toBeLessThan(FLOOD / 2);
  });
});
