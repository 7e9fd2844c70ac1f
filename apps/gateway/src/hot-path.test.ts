import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Harness, hello, startHarness, wholeAnswer } from './testing/harness.ts';

/** Every completion runs these. */
const FILES = [
  ...['admit', 'call-model', 'fit', 'holdings', 'pipeline', 'response-sink', 'settlement'].map(
    (name) => `completion/${name}`,
  ),
  ...['admission', 'calls', 'link', 'unacknowledged'].map((name) => `limiter/${name}`),
  ...['send', 'stream-call', 'stream-rewriter', 'upstream-call', 'whole-call'].map(
    (name) => `upstream/${name}`,
  ),
  ...['deliver', 'exchange', 'respond'].map((name) => `http/${name}`),
  'auth/authenticate',
  'observe/observer',
];
/** An object that begins with a spread of another. */
const COPY = /\{\s*\.\.\.[\w.#(]+/g;

describe('what every completion runs', () => {
  it('makes no object that begins with the copy of another, which costs microseconds in Node 20', () => {
    const copies = FILES.flatMap((name) => {
      const source = readFileSync(join(import.meta.dirname, `${name}.ts`), 'utf8');
      return [...source.matchAll(COPY)].map(([copy]) => `${name}.ts: ${copy}`);
    });
    expect(copies).toEqual([]);
  });
});

/*
 * Counts what a request costs, because timings differ between machines. Each write is a system
 * call, and wakes whoever reads it. A change that raises a count must give its reason in
 * docs/performance.md.
 */
const REQUESTS = 20;
/** Those for the model's answer, the limiter's acknowledgement, and the model's idle connection. */
const TIMERS_A_REQUEST = 3;

describe('a lone request', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({
      upstream: async ({ json }, reply) => {
        if (!json().stream) return reply.json(wholeAnswer());
        await reply.event({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] });
        await reply.done();
      },
    });
  });
  afterAll(() => harness.stop());

  /** Counts while requests are served one after another. */
  async function count(body: object) {
    const { server, model, limiterServer } = harness;
    const counts = { toClient: 0, toModel: 0, toLimiter: 0, timers: 0 };
    const serve = async () => {
      const answer = await harness.complete(body);
      expect([answer.status, (await answer.text()).length > 0]).toEqual([200, true]);
    };
    // Exclude what only the first request does.
    await serve();
    // Exclude the calls that a timer sends, of which there are more on a busy machine.
    const timed = () => limiterServer.of('heartbeat').length + limiterServer.of('reportRefusals').length;
    const messages = () => limiterServer.messages.length - timed();
    const before = messages();
    const restore = [
      ...(['_write', '_writev'] as const).map((name) =>
        around(Socket.prototype, name, (socket: Socket) => {
          if (socket.localPort === server.port) counts.toClient++;
          if (socket.remotePort === model.port) counts.toModel++;
        }),
      ),
      around(globalThis, 'setTimeout', () => counts.timers++),
    ];
    try {
      for (let i = 0; i < REQUESTS; i++) await serve();
    } finally {
      for (const undo of restore) undo();
    }
    counts.toLimiter = messages() - before;
    return counts;
  }

  it('for a whole answer is one write to the model, one to the client and two to the limiter', async () => {
    const counts = await count(hello);
    expect(counts).toMatchObject({ toModel: REQUESTS, toClient: REQUESTS });
    expect(counts.toLimiter).toBeLessThanOrEqual(2 * REQUESTS);
    expect(counts.timers).toBeLessThan((TIMERS_A_REQUEST + 1) * REQUESTS);
  });

  it('for a stream is one write to the client with each piece, as the model sends them', async () => {
    const counts = await count({ ...hello, stream: true });
    expect(counts).toMatchObject({ toModel: REQUESTS });
    expect(counts.toClient).toBeLessThanOrEqual(2 * REQUESTS);
    expect(counts.toLimiter).toBeLessThanOrEqual(2 * REQUESTS);
  });
});

/** Calls `before` with each call of a method, until undone. */
function around<T extends object>(target: T, name: keyof T, before: (self: never) => void): () => void {
  const original = target[name];
  (target as Record<keyof T, unknown>)[name] = function (this: never, ...args: unknown[]) {
    before(this);
    return (original as (...args: unknown[]) => unknown).apply(this, args);
  };
  return () => {
    target[name] = original;
  };
}
