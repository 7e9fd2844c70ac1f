import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { ask, client, failure, newKey, newOrg, post, publish } from '../support/org.ts';
import { usageOf, useStack } from '../support/stack.ts';

const CONTEXT = 1000;
const LEASE_MS = 15_000;
/** Refusals come far more often, unless something stands still. */
const STANDSTILL_MS = 2_000;

const stack = useStack({ demo: false, scale: { gateway: 2 } });
let standin: Standin;

beforeAll(async () => {
  standin = await startStandin({ names: ['tide'] });
});
afterAll(() => standin?.close());

describe('a gateway killed in mid-stream', () => {
  it('has its slots free within 15 s and leaves one error with the full charge [plan.settlement.failed]', async () => {
    const org = await newOrg(stack());
    await publish(stack(), org, standin.url, { context: CONTEXT });
    const { key } = await newKey(stack(), org, { atOnce: 1 });
    const [first = '', second = ''] = stack().info.gateways;

    const stream = await eventually(async () => {
      const answer = await post(first, key, ask('tide', '[[tokens=400]] [[token-ms=100]]', { stream: true }));
      return answer.status === 200 && answer;
    });
    const reader = stream.body?.getReader();
    await reader?.read();
    const busy = await post(second, key, ask('tide', 'x'));
    expect(busy.status).toBe(429);

    const killedAt = Date.now();
    stack().kill('gateway', 'SIGKILL');
    const cut = async () => {
      for (;;) if ((await reader?.read())?.done) return;
    };
    await expect(cut()).rejects.toThrow();

    let sinceMs = killedAt;
    let beforeMs = killedAt;
    await eventually(
      async () => {
        const { status } = await post(second, key, ask('tide', 'x'));
        const nowMs = Date.now();
        // A limiter that stood still gives gateways the full time for a heartbeat again.
        if (nowMs - beforeMs > STANDSTILL_MS) sinceMs = nowMs;
        beforeMs = nowMs;
        return status === 200;
      },
      { intervalMs: 100 },
    );
    expect(Date.now() - sinceMs).toBeLessThan(LEASE_MS);

    await eventually(async () => {
      const { totals, month } = await usageOf(stack(), org);
      expect(totals).toMatchObject({ requests: 2, errors: 1, reservedTokens: CONTEXT });
      expect(month.tokens).toMatchObject({
        charged: CONTEXT + totals.promptTokens + totals.completionTokens,
        reserved: 0,
      });
      return true;
    });
  });
});

describe('a limiter killed', () => {
  it('gives InternalServerError 500 internal_error while none answers, and no error a moment after one does [errors.internal_error] [retry.may-work]', async () => {
    const org = await newOrg(stack());
    await publish(stack(), org, standin.url, { context: CONTEXT });
    const [, gateway = ''] = stack().info.gateways;
    const api = client(gateway, (await newKey(stack(), org)).key);
    const complete = () => api.chat.completions.create(ask('tide', 'x'));
    await eventually(complete);
    stack().kill('limiter', 'SIGKILL');
    await eventually(async () => {
      expect(await failure(complete())).toEqual(['InternalServerError', 500, 'internal_error']);
      return true;
    });
    await eventually(complete);
  });
});
