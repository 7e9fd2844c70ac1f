import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { ask, newKey, newOrg, post, publish } from '../support/org.ts';
import { usageOf, useSharedStack } from '../support/stack.ts';

const CONTEXT = 1000;

/**
 * Sends `count` requests at once, to each gateway in turn. Returns their statuses and bodies. The
 * connections are new: the gateway may close one that was kept just when it is used again.
 */
async function flood(
  gateways: readonly string[],
  key: string,
  count: number,
  content = 'x',
  onAnswer = () => {},
) {
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const gateway = gateways[i % gateways.length] ?? '';
      const answer = await post(gateway, key, ask('tide', content), { connection: 'close' });
      const body = (await answer.json()) as { error?: { code: string } };
      onAnswer();
      return { status: answer.status, code: body.error?.code, headers: answer.headers };
    }),
  );
}

describe('limits, through two gateways and two limiters', () => {
  const stack = useSharedStack();
  let standin: Standin;
  const gateways = () => stack().info.gateways;

  beforeAll(async () => {
    standin = await startStandin({ names: ['tide'] });
  });
  afterAll(() => standin?.close());

  async function ready(limits: Parameters<typeof newOrg>[1] = {}): Promise<string> {
    const org = await newOrg(stack(), limits);
    await publish(stack(), org, standin.url, { context: CONTEXT });
    const { key } = await newKey(stack(), org);
    // The model list does not show whether a model runs. This request is refused for its own fault,
    // so it does not count.
    for (const gateway of gateways()) {
      await eventually(async () => {
        const answer = await post(gateway, key, ask('tide', 'x', { max_tokens: CONTEXT + 1 }));
        return ((await answer.json()) as { error: { code: string } }).error.code === 'model_refused';
      });
    }
    return org;
  }

  /** Like `flood`. The requests that are admitted stay in flight until all others are refused. */
  async function floodHeld(key: string, count: number, admitted: number, content = '[[held]]') {
    let answered = 0;
    const answers = flood(gateways(), key, count, content, () => {
      answered++;
    });
    await eventually(() => answered === count - admitted && standin.stats().held === admitted);
    standin.release();
    return answers;
  }

  it('a key with 5 requests a minute gets exactly 5 of 100 at once, and Retry-After is honest to the second [cause.key-rpm] [completions.retry-after] [key.rpm.effect] [retry.after]', async () => {
    const org = await ready();
    const { key } = await newKey(stack(), org, { rpm: 5 });
    const started = Date.now();
    const answers = await flood(gateways(), key, 100);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(95);
    for (const { code } of refused) expect(code).toBe('rate_limit_exceeded');
    const elapsedS = Math.ceil((Date.now() - started) / 1000);
    for (const { headers } of refused) {
      const retryAfterS = Number(headers.get('retry-after'));
      expect(retryAfterS).toBeGreaterThanOrEqual(60 - elapsedS);
      expect(retryAfterS).toBeLessThanOrEqual(60);
    }
    const attempt = async () => {
      const sentAt = Date.now();
      const answer = await post(gateways()[0] ?? '', key, ask('tide', 'x'));
      await answer.arrayBuffer();
      const waitMs = Number(answer.headers.get('retry-after')) * 1000;
      return { status: answer.status, waitMs, sentAt, answeredAt: Date.now() };
    };
    const promise = await attempt();
    expect(promise.status).toBe(429);
    let lastRefused = promise;
    const admitted = await eventually(
      async () => {
        const again = await attempt();
        if (again.status === 200) return again;
        lastRefused = again;
        return null;
      },
      { timeoutMs: 180_000, intervalMs: 50 },
    );
    // The request succeeds at the promised time, at most a second early or late. The limiter
    // decides at some moment between a request and its answer.
    const { waitMs } = promise;
    expect(admitted.answeredAt).toBeGreaterThan(promise.sentAt + waitMs - 1_000);
    expect(lastRefused.sentAt).toBeLessThan(promise.answeredAt + waitMs + 1_000);
  });

  it('a key with 2 at once never has 3 in flight at the model [cause.key-at-once] [key.at-once.effect]', async () => {
    const org = await ready();
    const { key } = await newKey(stack(), org, { atOnce: 2 });
    await fetch(`${standin.url}/stats/reset`, { method: 'POST' });
    const answers = await floodHeld(key, 50, 2);
    const answered = answers.filter(({ status }) => status === 200).length;
    expect(answered).toBe(2);
    for (const { code, headers } of answers.filter(({ status }) => status !== 200)) {
      expect(code).toBe('rate_limit_exceeded');
      expect(headers.get('retry-after')).toBe('1');
    }
    expect(standin.stats().maxInFlight).toBe(2);
    // Slots are free before the answers have arrived. So two callers that send one request after
    // the other are never refused.
    await Promise.all(
      [0, 1].map(async (gateway) => {
        for (let i = 0; i < 50; i++) {
          const answer = await post(gateways()[gateway] ?? '', key, ask('tide', 'x'));
          expect(answer.status).toBe(200);
          await answer.text();
        }
      }),
    );
    expect(standin.stats().maxInFlight).toBeLessThanOrEqual(2);
  });

  it('an organization with 2 at once has these for all of its keys together, and Retry-After is 1 [cause.org-at-once] [plan.at-once]', async () => {
    const org = await ready({ requestsAtOnce: 2 });
    const keys = await Promise.all([newKey(stack(), org), newKey(stack(), org), newKey(stack(), org)]);
    await fetch(`${standin.url}/stats/reset`, { method: 'POST' });
    const answers = await Promise.all(
      keys.flatMap(({ key }) =>
        gateways().map((gateway) => post(gateway, key, ask('tide', '[[held]]', { stream: true }))),
      ),
    );
    standin.release();
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
    for (const answer of answers) {
      const body = await answer.text();
      if (answer.status === 200) continue;
      expect(body).toContain('rate_limit_exceeded');
      expect(body).toContain('organization');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect(standin.stats().maxInFlight).toBe(2);
    expect((await post(gateways()[0] ?? '', keys[2].key, ask('tide', 'x'))).status).toBe(200);
  });

  it('a plan whose requests are used up by errors has none left [plan.requests-month]', async () => {
    const org = await ready({ requestsPerMonth: 2 });
    const { key } = await newKey(stack(), org);
    for (const directive of ['[[status=500]]', '[[status=400]]']) {
      const answer = await post(gateways()[0] ?? '', key, ask('tide', directive));
      expect([400, 502]).toContain(answer.status);
    }
    const answer = await post(gateways()[1] ?? '', key, ask('tide', 'x'));
    expect(await answer.json()).toMatchObject({ error: { code: 'quota_exceeded' } });
  });

  it('a plan whose tokens fit exactly K reservations admits exactly K of 200 at once [plan.reservation] [plan.strict]', async () => {
    const K = 7;
    const org = await ready({ tokensPerMonth: K * CONTEXT + CONTEXT - 1 });
    const { key } = await newKey(stack(), org);
    const before = standin.stats().calls;
    const answers = await floodHeld(key, 200, K, '[[held]] [[no-usage]]');
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(K);
    for (const { code, headers } of answers.filter(({ status }) => status !== 200)) {
      expect(code).toBe('quota_exceeded');
      expect(headers.get('x-should-retry')).toBe('false');
    }
    expect(standin.stats().calls - before).toBe(K);
    await eventually(async () => {
      const usage = await usageOf(stack(), org);
      expect(usage.totals).toMatchObject({ requests: K, errors: 0, reservedTokens: K * CONTEXT });
      expect(usage.month.tokens).toMatchObject({ charged: K * CONTEXT, reserved: 0 });
      return true;
    });
  });

  it('unused tokens come back: an answer that reports its usage is charged for just that [plan.settlement.released] [plan.tokens-month]', async () => {
    const org = await ready({ tokensPerMonth: CONTEXT + 200 });
    const { key } = await newKey(stack(), org);
    const url = gateways()[0] ?? '';
    const first = (await (await post(url, key, ask('tide', 'x', { max_tokens: 10 }))).json()) as {
      usage: { total_tokens: number };
    };
    expect(first.usage.total_tokens).toBeLessThan(200);
    // The whole context fits again only because the unused tokens were released.
    expect((await post(url, key, ask('tide', 'x', { max_tokens: 10 }))).status).toBe(200);
  });

  it('requests refused before their reservation change no count [errors.refused-untouched]', async () => {
    const org = await ready();
    const { key } = await newKey(stack(), org, { rpm: 3 });
    const url = gateways()[0] ?? '';
    for (const body of [
      {},
      ask('nothing', 'x'),
      ask('tide', 'x', { temperature: 9 }),
      ask('tide', 'x', { n: 2 }),
    ]) {
      expect((await post(url, key, body)).status).toBeGreaterThanOrEqual(400);
    }
    const answers = await flood(gateways(), key, 6);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    await eventually(async () => (await usageOf(stack(), org)).totals.requests === 3);
  });
});
