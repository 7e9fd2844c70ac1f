import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, TcpProxy } from '@tidegate/testing';
import { type Order, Witness } from '../faults/world/witness.ts';
import { ctlVariables } from '../support/control.ts';
import { type RunningGateway, startGateway } from '../support/gateway.ts';
import { ask, type NewKey, newKey, newOrg, post, publish } from '../support/org.ts';
import { usageOf, useSharedStack } from '../support/stack.ts';

const CONTEXT = 1_000_000;
const AT_ONCE = 2;
/** Nothing listens on this port of a local address. */
const NOWHERE = 1;
const HEALTH_EVERY_MS = 50;
/** Less than the 500 ms between the gateway's cut-off and the end of its lease. */
const STANDSTILL_MS = 400;

const stack = useSharedStack();
let witness: Witness;
let proxies: TcpProxy[] = [];
let ports: number[] = [];
let gateway: RunningGateway;

beforeAll(async () => {
  witness = await Witness.start(() => AT_ONCE);
  const addresses = (ctlVariables(stack()).LIMITER_ADDRESSES ?? '').split(',');
  ports = addresses.map((address) => Number(new URL(`http://${address}`).port));
  proxies = await Promise.all(ports.map((port) => TcpProxy.start(port)));
  gateway = await startGateway(stack(), {
    LIMITER_ADDRESSES: proxies.map(({ port }) => `127.0.0.1:${port}`).join(','),
  });
});
afterAll(async () => {
  await gateway?.stop();
  for (const proxy of proxies) await proxy.stop();
  await witness?.close();
});

/**
 * Cuts the gateway off from all limiters and leads it back. Resolves to the most requests that were
 * ever at the model, and whether the gateway stood still meanwhile.
 */
async function cutOff(): Promise<{ most: number; stoodStill: boolean }> {
  const org = await newOrg(stack());
  await publish(stack(), org, witness.url, { context: CONTEXT });
  const key: NewKey = await newKey(stack(), org, { atOnce: AT_ONCE });
  const [healthy = ''] = stack().info.gateways;
  const send = (to: string, order: Partial<Order>) => {
    const whole = { tag: 'x', key: key.id, org, headMs: 0, tokens: 1, gapMs: 0, usage: true, ...order };
    return post(to, key.key, ask('tide', JSON.stringify(whole), { stream: true }));
  };
  const begin = () =>
    eventually(async () => {
      const answer = await send(gateway.url, { tokens: 6_000, gapMs: 100 });
      return answer.status === 200 && answer.body?.getReader();
    });
  const running = [await begin(), await begin()];
  expect((await send(healthy, {})).status).toBe(429);

  const standstill = watchForStandstill();
  for (const proxy of proxies) proxy.redirectTo(NOWHERE);
  const ends = running.map(async (reader) => {
    while (!(await reader.read()).done);
  });
  const ended = Promise.allSettled(ends);
  // The model's count includes the running requests for as long as they run.
  await eventually(async () => (await send(healthy, {})).status === 200, { intervalMs: 100 });
  expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const stoodStill = await standstill.end();

  for (const [i, proxy] of proxies.entries()) proxy.redirectTo(ports[i] ?? NOWHERE);
  await eventually(async () => (await send(gateway.url, {})).status === 200);
  await eventually(async () => {
    const { totals, month } = await usageOf(stack(), org);
    expect(totals).toMatchObject({ requests: 4, errors: 2, reservedTokens: 2 * CONTEXT });
    expect(month.tokens.reserved).toBe(0);
    return true;
  });
  return { most: witness.mostOf(key.id), stoodStill };
}

/** Asks the gateway for its health again and again, to see whether anything stands still. */
function watchForStandstill() {
  let going = true;
  const watch = async () => {
    let longestMs = 0;
    while (going) {
      const askedMs = performance.now();
      await (await fetch(gateway.service.health)).text();
      await sleep(HEALTH_EVERY_MS);
      longestMs = Math.max(longestMs, performance.now() - askedMs);
    }
    return longestMs > STANDSTILL_MS;
  };
  const watching = watch();
  return {
    end: () => {
      going = false;
      return watching;
    },
  };
}

describe('a gateway that is cut off from all limiters', () => {
  it('ends its requests before others take their slots, and each is one error with the full charge', async () => {
    let outcome = await cutOff();
    // One that stands still cannot end them in time.
    for (let again = 0; again < 3 && outcome.most > AT_ONCE && outcome.stoodStill; again++)
      outcome = await cutOff();
    expect(outcome.most).toBe(AT_ONCE);
  });
});
