import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually, type UpstreamReply } from '@tidegate/testing';
import { askUnread, type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';

const MIB = 1024 * 1024;
const CONTENT = 'x'.repeat(2 * MIB - 4096);
const CLIENTS = 4;
let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({
    upstream: (request, reply) =>
      request.json().stream ? streamWithoutEnd(reply) : reply.json(wholeAnswer(CONTENT)),
    env: { UNREAD_ANSWER_TIMEOUT_MS: '500' },
  });
});
afterAll(() => harness.stop());

const REQUESTS = 8;

/**
 * Sends more than the system's own buffers hold, then waits until the model is no longer wanted.
 */
async function streamWithoutEnd(reply: UpstreamReply): Promise<void> {
  const event = { choices: [{ index: 0, delta: { content: 'x'.repeat(64 * 1024) } }] };
  for (let i = 0; i < 100; i++) await reply.event(event);
  await reply.closed;
}

it('answers that nobody reads are abandoned, and their memory is freed', async () => {
  // Together the answers exceed the system's own buffers.
  const sockets = await Promise.all(
    Array.from({ length: CLIENTS }, () => askUnread(harness, hello, REQUESTS)),
  );
  await eventually(() => harness.limiterServer.of('settle').length >= CLIENTS);
  await eventually(() => harness.gateway.exchanges.size === 0);
  // Those answers were complete, but did not leave the gateway.
  const unread = harness.logged.filter((line) => line.includes('"aborted":"client_closed"'));
  expect(unread.length).toBeGreaterThanOrEqual(CLIENTS);
  for (const socket of sockets) socket.destroy();
});

it('a stream that nobody reads counts as a hang-up: the work of the model ends', async () => {
  harness.limiterServer.calls.length = 0;
  const socket = await askUnread(harness, { ...hello, stream: true }, 1);
  await eventually(() => harness.limiterServer.of('settle').length > 0);
  await eventually(() => harness.model.inFlight === 0);
  expect(harness.limiterServer.of('settle').map(({ settle }) => settle)).toEqual([
    expect.objectContaining({ answered: false, errorCode: 'client_closed' }),
  ]);
  socket.destroy();
});
