import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { newOrgId } from '@tidegate/contracts';
import { eventually } from '@tidegate/testing';
import type { Exchange } from '../http/exchange.ts';
import { type Harness, hello, startHarness } from '../testing/harness.ts';

const MIB = 1024 * 1024;

let harness: Harness;
let finish: () => void;
let sockets: Socket[];
beforeEach(async () => {
  sockets = [];
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  harness = await startHarness({
    upstream: async (_request, reply) => {
      await finished;
      await reply.event({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] });
      await reply.done();
    },
    env: { MAX_BUFFERED_BODY_BYTES: String(3 * MIB) },
  });
});
afterEach(async () => {
  finish();
  for (const socket of sockets) socket.destroy();
  await harness.stop();
});

const headers = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });
const ask = (characters = 0, apiKey = harness.apiKey) => {
  const messages = [{ role: 'user', content: 'x'.repeat(characters) }];
  return harness.complete({ ...hello, messages, stream: true }, { headers: headers(apiKey) });
};

/** Begins a body of 2 MiB and never sends the rest. */
function begin(sentBytes: number): Promise<Socket> {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${harness.apiKey}\r\n`;
  return new Promise((resolve) => {
    const socket = connect(harness.server.port, '127.0.0.1');
    sockets.push(socket);
    socket.write(`${head}content-length: ${2 * MIB}\r\n\r\n${'x'.repeat(sentBytes)}`, () => resolve(socket));
  });
}
const held = () => [...harness.gateway.exchanges].reduce((sum, { held }) => sum + (held?.bytes ?? 0), 0);

it('a body of undeclared length takes only the memory that it needs once it has arrived', async () => {
  const answers = [];
  for (let sent = 1; sent <= 5; sent++) {
    const body = new Blob([JSON.stringify({ ...hello, stream: true })]).stream();
    const init = { method: 'POST', headers: headers(harness.apiKey), body, duplex: 'half' } as RequestInit;
    answers.push(fetch(`${harness.url}/chat/completions`, init));
    await eventually(() => harness.limiterServer.of('admit').length === sent);
  }
  finish();
  for (const answer of answers) expect((await answer).status).toBe(200);
});

it('a declared body takes no memory before it arrives', async () => {
  for (let i = 0; i < 5; i++) await begin(0);
  const isRead = ({ request }: Exchange) => request.listenerCount('data') > 0;
  await eventually(() => [...harness.gateway.exchanges].filter(isRead).length === 5);
  expect(held()).toBe(0);
  finish();
  expect((await ask()).status).toBe(200);
});

it('one organization holds at most a quarter of the memory, so the others are still served', async () => {
  const orgId = newOrgId();
  const { modelId } = await harness.publish({ orgId, modelId: 'mdl_other' });
  const another = harness.addKey({ orgId });
  const socket = await begin(700 * 1024);
  await eventually(() => held() === 700 * 1024);
  finish();
  expect((await ask(100 * 1024)).status).toBe(429);
  expect((await ask(100 * 1024, another)).status).toBe(200);
  socket.destroy();
  await eventually(() => held() === 0);
  expect((await ask(100 * 1024)).status).toBe(200);
  harness.runner.remove(modelId);
});
