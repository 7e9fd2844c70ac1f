import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import { askUnread, type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';

const MIB = 1024 * 1024;
const CONTENT = 'x'.repeat(2 * MIB - 4096);
const LARGE = { delta: { content: CONTENT.slice(0, MIB - 4096) }, finish_reason: 'stop' };
/** Room for two such answers of one organization. */
const ORG_BYTES = 4 * MIB + 128 * 1024;

let harness: Harness;
let upstream: UpstreamHandler;
beforeAll(async () => {
  harness = await startHarness({
    env: { MAX_BUFFERED_BODY_BYTES: String(4 * ORG_BYTES) },
    upstream: (request, reply) => upstream(request, reply),
  });
});
afterAll(() => harness.stop());
afterEach(() => {
  harness.limiterServer.calls.length = 0;
});

const taken = () => harness.gateway.bodyBudget.taken;
const errorCodes = () => harness.limiterServer.of('settle').map(({ settle }) => settle?.errorCode);

/** The requests whose end the limiter has heard of. */
const settled = () => new Set(harness.limiterServer.of('settle').map(({ settle }) => settle?.admissionId));
const read = async (request: object) => {
  const answer = await harness.complete(request);
  await answer.text();
  return answer;
};

describe('the memory of answers', () => {
  it.each([
    ['whole answers', false],
    ['streams', true],
  ])(
    'of %s that nobody reads counts until the client is gone, and further ones are refused',
    async (_what, stream) => {
      let asked = 0;
      upstream = async (_request, reply) => {
        const before = asked++;
        // One after another, so that what was kept before is known.
        await eventually(() => settled().size === before);
        if (!stream) return reply.json(wholeAnswer(CONTENT));
        // Whoever does not read cannot pause a model that has said all of it.
        await reply.write(`data: ${JSON.stringify({ choices: [LARGE] })}\n\ndata: [DONE]\n\n`);
        reply.end();
      };
      // More than the system's own buffers hold.
      const count = 24;
      const socket = await askUnread(harness, { ...hello, stream }, count);
      await eventually(() => settled().size === count);
      expect(errorCodes()).toContain('rate_limit_exceeded');
      expect(taken()).toBeGreaterThan(MIB / 2);
      socket.destroy();
      await eventually(() => taken() === 0);
      for (let i = 0; i < 5; i++) expect((await read({ ...hello, stream })).status).toBe(200);
      await eventually(() => taken() === 0);
    },
  );

  it('is counted while they arrive, also that of an event whose end has not come', async () => {
    const half = `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(MIB / 2)}`;
    upstream = async (_request, reply) => {
      await reply.event({ choices: [{ delta: { content: 'a' } }] });
      await reply.write(half);
      await eventually(() => taken() > MIB / 2);
      await reply.write('"}}]}\n\n');
      // What is left is the request's own body.
      await eventually(() => taken() < 1_024);
      await reply.event({ choices: [{ delta: {}, finish_reason: 'stop' }] });
      await reply.done();
    };
    const answer = await harness.complete({ ...hello, stream: true });
    expect((await answer.text()).endsWith('data: [DONE]\n\n')).toBe(true);

    const room = ORG_BYTES - MIB / 2;
    expect(harness.gateway.bodyBudget.take(harness.orgId, room)).toBe(true);
    upstream = async (_request, reply) => {
      await reply.event({ choices: [{ delta: { content: 'a' } }] });
      await reply.write(half);
      await reply.closed;
    };
    const broken = await harness.complete({ ...hello, stream: true });
    await expect(broken.text()).rejects.toThrow();
    upstream = async (_request, reply) => {
      await reply.write(half);
      await reply.closed;
    };
    expect((await harness.complete({ ...hello, stream: true })).status).toBe(429);
    harness.gateway.bodyBudget.release(harness.orgId, room);
    await eventually(() => taken() === 0);
    expect(errorCodes()).toEqual(['', 'stream_limit', 'rate_limit_exceeded']);
  });

  it('is not counted while they are small', async () => {
    expect(harness.gateway.bodyBudget.take(harness.orgId, ORG_BYTES - 1024)).toBe(true);
    upstream = (_request, reply) => reply.json(wholeAnswer('x'.repeat(32 * 1024)));
    expect((await harness.complete(hello)).status).toBe(200);
    harness.gateway.bodyBudget.release(harness.orgId, ORG_BYTES - 1024);
  });
});
