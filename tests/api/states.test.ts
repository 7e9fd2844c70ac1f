import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { controlOf, must, OPERATOR } from '../support/control.ts';
import { type Answer, call, dial, MODELS } from '../support/http.ts';
import { ask, newKey, newOrg, publish } from '../support/org.ts';
import { ctl, modelsOf, usageOf, useStack } from '../support/stack.ts';

const DAY_MS = 86_400_000;
const COLD_START_MS = 2_000;
/**
 * The limiter's clock shows noon on the last day of a month, at least two days ahead. All other
 * clocks are real.
 */
const noon = lastDayOfMonth(Date.now() + 2 * DAY_MS);
const offsetMs = noon - Date.now();
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const stack = useStack({
  demo: false,
  scale: { gateway: 2 },
  env: {
    limiter: { LIMITER_CLOCK_OFFSET_MS: String(offsetMs) },
    // The contract's time-outs, shortened.
    'gateway-2': { COLD_START_MS: String(COLD_START_MS), STREAM_MAX_WAKE_ON_REQUEST_MS: '1500' },
  },
});
const STANDIN = join(fileURLToPath(new URL('../..', import.meta.url)), 'packages/standin/dist/main.js');
let standin: Standin;
let never: Standin;
let org: string;
let key: string;

function lastDayOfMonth(afterMs: number): number {
  const after = new Date(afterMs);
  return Date.UTC(after.getUTCFullYear(), after.getUTCMonth() + 1, 0, 12);
}

const send = (
  model: string,
  more: { key?: string; content?: string; stream?: boolean; through?: string } = {},
): Promise<Answer> =>
  call(more.through ?? stack().info.gateway, {
    key: more.key ?? key,
    body: ask(model, more.content ?? 'Hi', { stream: more.stream ?? false }),
  });
const impatient = () => stack().info.gateways[1] as string;
const list = (listKey = key, through = stack().info.gateway): Promise<Answer> =>
  call(through, { method: 'GET', target: MODELS, key: listKey });
const listed = async (through?: string) =>
  ((await list(key, through)).json as { data: { id: string }[] }).data.map(({ id }) => id);

const publishCommand = async (name: string, command: string, owner = org) => {
  const model = { org: owner, name, kind: 'text', mode: 'wake_on_request', contextTokens: 1000 } as const;
  must(await controlOf(stack()).publishModel(OPERATOR, { ...model, command }));
};

beforeAll(async () => {
  standin = await startStandin({ names: ['tide'], contextTokens: 1000 });
  never = await startStandin({ names: ['never'], startupMs: 3_600_000 });
  org = await newOrg(stack());
  await publish(stack(), org, standin.url);
  key = (await newKey(stack(), org)).key;
  for (const through of stack().info.gateways)
    await eventually(async () => (await send('tide', { through })).status === 200);
});
afterAll(async () => {
  await standin?.close();
  await never?.close();
});

const unavailable = (answer: Answer, code: string, retryAfter: string | undefined) => {
  expect([answer.status, answer.headers['retry-after']]).toEqual([503, retryAfter]);
  expect(answer.json).toEqual({
    error: { message: expect.any(String), type: 'service_unavailable', code },
  });
  expect(answer.headers['x-should-retry']).toBe(code === 'model_unavailable' ? 'false' : undefined);
};

describe('a model', () => {
  it('always on and starting: 503 model_starting immediately, Retry-After 30 [completions.retry-after] [errors.model_starting] [state.model.starting]', async () => {
    await publish(stack(), org, never.url, { name: 'never' });
    await eventually(async () => (await listed()).includes('never'));
    for (const stream of [false, true]) unavailable(await send('never', { stream }), 'model_starting', '30');
  });

  it('stopped: 503 model_unavailable, still listed; started again it answers [errors.model_unavailable] [retry.no] [state.model.stopped.refused] [state.model.stopped.start]', async () => {
    must(await controlOf(stack()).stopModel(OPERATOR, { org, name: 'tide' }));
    await eventually(async () => (await send('tide')).status === 503);
    unavailable(await send('tide'), 'model_unavailable', undefined);
    unavailable(await send('tide', { stream: true }), 'model_unavailable', undefined);
    expect(await listed()).toContain('tide');
    must(await controlOf(stack()).startModel(OPERATOR, { org, name: 'tide' }));
    await eventually(async () => (await send('tide')).status === 200);
  });

  it('changed: what is in flight ends as it began, and the next request goes to the new URL', async () => {
    const [before, after] = [
      await startStandin({ names: ['moved'], contextTokens: 1000, behaviour: { say: 'before' } }),
      await startStandin({ names: ['moved'], contextTokens: 1000, behaviour: { say: 'after' } }),
    ];
    await publish(stack(), org, before.url, { name: 'moved' });
    await eventually(async () => (await send('moved')).status === 200);
    const streaming = send('moved', {
      stream: true,
      content: '[[held]] [[say=one two three]]',
    });
    await eventually(() => before.stats().held === 1);
    await ctl(stack(), 'model', 'set', '--org', org, '--name', 'moved', '--url', after.url);
    await eventually(async () => (await send('moved')).text.includes('after'));
    before.release();
    const { status, over, text } = await streaming;
    expect([status, over, text.includes('three'), text.includes('[DONE]')]).toEqual([200, true, true, true]);
    await Promise.all([before.close(), after.close()]);
  });

  it('asleep and too slow: held for the whole time, then 503 model_starting, Retry-After 15 [errors.model_starting] [limit.cold-start] [retry.after] [state.model.asleep.late]', async () => {
    await publishCommand('slow', `exec node ${STANDIN} --port $PORT --name slow --startup-ms 600000`);
    await eventually(async () => (await listed(impatient())).includes('slow'));
    const through = impatient();
    const startedAtMs = performance.now();
    const answers = await Promise.all([send('slow', { through }), send('slow', { stream: true, through })]);
    expect(performance.now() - startedAtMs).toBeGreaterThan(COLD_START_MS - 50);
    for (const answer of answers) unavailable(answer, 'model_starting', '15');
    // Another request finds the model starting, and waits for the same time.
    unavailable(await send('slow', { through }), 'model_starting', '15');
    expect(await listed()).toContain('slow');
    must(await controlOf(stack()).stopModel(OPERATOR, { org, name: 'slow' }));
    await eventually(async () => (await send('slow')).code === 'model_unavailable');
    unavailable(await send('slow'), 'model_unavailable', undefined);
  });

  it('that wakes on request has a time of its own for its streams [limit.stream.wake-on-request]', async () => {
    await publishCommand('brief', `exec node ${STANDIN} --port $PORT --name brief`);
    await eventually(async () => (await send('brief')).status === 200);
    const held = { content: '[[held]]', stream: true, through: impatient() };
    const streaming = send('tide', held);
    await eventually(() => standin.stats().held === 1);
    // On a busy machine, a stream may not even begin in the short time.
    const brief = await eventually(async () => {
      const answer = await send('brief', held);
      return answer.status === 200 && answer;
    });
    expect([brief.over, brief.text.includes('[DONE]')]).toEqual([false, false]);
    standin.release();
    const tide = await streaming;
    expect([tide.status, tide.over, tide.text.includes('[DONE]')]).toEqual([200, true, true]);
  });

  it('that cannot be started: 503 model_unavailable [errors.model_unavailable]', async () => {
    await publishCommand('broken', 'exit 3');
    await eventually(async () => (await listed()).includes('broken'));
    unavailable(await send('broken'), 'model_unavailable', undefined);
    unavailable(await send('broken'), 'model_unavailable', undefined);
  });

  it('that wakes on request and is killed: the next request starts it and is answered [state.model.asleep]', async () => {
    await publishCommand('mortal', `exec node ${STANDIN} --port $PORT --name mortal`);
    await eventually(async () => (await send('mortal')).status === 200);
    const { id } = (await modelsOf(stack(), org)).find(({ name }) => name === 'mortal') ?? {};
    const pid = () => JSON.parse(readFileSync(join(stack().dataDir, 'runner', `${id}.json`), 'utf8')).pid;
    const first = pid();
    process.kill(first, 'SIGKILL');
    const condition = async () =>
      (await modelsOf(stack(), org)).find(({ name }) => name === 'mortal')?.condition;
    await eventually(async () => (await condition()) !== 'running');
    // The gateway holds the request while the model starts, for at most its own limit. A backoff of
    // 10 s would exceed that.
    await eventually(async () => (await send('mortal', { through: impatient() })).status === 200);
    expect(pid()).not.toBe(first);
  });

  it('that its server would refuse: 503 model_unavailable with nothing counted, and its owner is told why [errors.model_unavailable]', async () => {
    const own = await newOrg(stack());
    const { key: ownKey } = await newKey(stack(), own);
    const closed = await startStandin({ names: ['closed'], key: 'right' });
    const wrong = { org: own, kind: 'text', mode: 'always_on', contextTokens: 1000 } as const;
    for (const model of [
      { name: 'misnamed', urls: [standin.url] },
      { name: 'misplaced', urls: [`${standin.url}/api`] },
      { name: 'closed', urls: [closed.url], upstreamKey: 'wrong' },
    ])
      must(await controlOf(stack()).publishModel(OPERATOR, { ...wrong, ...model }));
    const reasons = async () => {
      const models = await modelsOf(stack(), own);
      return Object.fromEntries(models.map(({ name, conditionReason }) => [name, conditionReason]));
    };
    await eventually(async () => Object.values(await reasons()).every(Boolean));
    expect(await reasons()).toEqual({
      misnamed: "The server does not serve 'misnamed'. It serves tide.",
      misplaced: `No chat completions API at ${standin.url}/api/v1: /models answered 404.`,
      closed: 'The server refused the upstream key (401).',
    });
    for (const model of ['misnamed', 'misplaced', 'closed'])
      unavailable(await send(model, { key: ownKey }), 'model_unavailable', undefined);
    await closed.close();
    const { month, totals } = await usageOf(stack(), own);
    expect([month.requests, month.tokens.charged, month.tokens.reserved, totals.requests]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it('whose server is gone: 503 model_unavailable, still listed [errors.model_unavailable]', async () => {
    const gone = await startStandin({ names: ['gone'] });
    await publish(stack(), org, gone.url, { name: 'gone' });
    await eventually(async () => (await send('gone')).status === 200);
    await gone.close();
    unavailable(await send('gone'), 'model_unavailable', undefined);
    expect(await listed()).toContain('gone');
  });

  it('left by its waiting caller: the request was never counted, and its slot is free [metered.counted]', async () => {
    const own = await newOrg(stack());
    await publish(stack(), own, standin.url, { context: 1000 });
    await publishCommand('later', `exec node ${STANDIN} --port $PORT --name later --startup-ms 600000`, own);
    const { key: single } = await newKey(stack(), own, { atOnce: 1 });
    await eventually(async () => ((await list(single)).json as { data: object[] }).data.length === 2);
    const body = JSON.stringify(ask('later', 'Hi'));
    let waiting: Socket | undefined;
    const release = () => waiting?.destroy();
    // A request for the other model shows whether the slot is taken. It may take the slot first
    // itself, so both are sent again until the waiting one holds the slot.
    let answered = 0;
    const probe = async () => {
      const answer = await send('tide', { key: single });
      if (answer.status === 200) answered += 1;
      return answer;
    };
    await eventually(async () => {
      release();
      waiting = await dial(stack().info.gateway);
      waiting.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${single}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      return (await probe()).code === 'rate_limit_exceeded' && waiting.bytesRead === 0;
    });
    release();
    await eventually(async () => (await probe()).status === 200);
    await eventually(async () => {
      expect((await usageOf(stack(), own)).month.requests).toBe(answered);
      return true;
    });
  });
});

describe('a key', () => {
  const expiring = async (day: string) =>
    must(await controlOf(stack()).createKey(OPERATOR, { org, name: 'Day', expiresOn: day }));
  const refused = (answer: Answer) => {
    expect(answer.status).toBe(401);
    expect(answer.json).toEqual({
      error: { message: expect.any(String), type: 'authentication_error', code: 'invalid_api_key' },
    });
  };

  it('works on the day it expires on, in UTC, and no longer on the day after [auth.expired] [key.expires.effect] [state.key.expired]', async () => {
    const { key: today } = await expiring(dayOf(noon));
    expect((await send('tide', { key: today })).status).toBe(200);
    expect((await list(today)).status).toBe(200);
    const { key: yesterday } = await expiring(dayOf(noon - DAY_MS));
    refused(await send('tide', { key: yesterday }));
    refused(await list(yesterday));
  });

  it('is refused from the request after it was revoked, and when it is deleted [auth.revoked] [errors.invalid_api_key] [state.key.revoked.next]', async () => {
    const { id, key: mine } = await newKey(stack(), org);
    expect((await send('tide', { key: mine })).status).toBe(200);
    must(await controlOf(stack()).revokeKey(OPERATOR, { org, id }));
    refused(await send('tide', { key: mine }));
    refused(await list(mine));
    must(await controlOf(stack()).deleteKey(OPERATOR, { org, id }));
    refused(await send('tide', { key: mine }));
  });
});

describe('the month', () => {
  it.each([
    ['tokens [plan.tokens-month]', { tokensPerMonth: 1500 }, '[[no-usage]]'],
    ['requests [plan.requests-month]', { requestsPerMonth: 1 }, 'Hi'],
  ] as const)(
    'whose %s are used up: 429 quota_exceeded, Retry-After to its end in UTC, not to be retried [errors.quota_exceeded] [plan.freed.increase]',
    async (_name, limits, content) => {
      const poor = await newOrg(stack(), limits);
      await publish(stack(), poor, standin.url, { context: 1000 });
      const { key: poorKey } = await newKey(stack(), poor);
      await eventually(async () => (await send('tide', { key: poorKey, content })).status === 200);
      for (const stream of [false, true]) {
        const leftS = () => (noon + DAY_MS / 2 - (Date.now() + offsetMs)) / 1000;
        const before = leftS();
        const answer = await send('tide', { key: poorKey, stream });
        expect(answer.status).toBe(429);
        expect(answer.json).toEqual({
          error: { message: expect.any(String), type: 'insufficient_quota', code: 'quota_exceeded' },
        });
        const retryAfterS = Number(answer.headers['retry-after']);
        expect(Number.isInteger(retryAfterS)).toBe(true);
        expect(retryAfterS).toBeLessThan(before + 5);
        expect(retryAfterS).toBeGreaterThan(leftS() - 5);
        expect(answer.headers['x-should-retry']).toBe('false');
      }
      expect((await list(poorKey)).status).toBe(200);
      // A larger plan takes effect immediately.
      must(await controlOf(stack()).setOrgPlan(OPERATOR, { org: poor, plan: 'Pro' }));
      expect((await send('tide', { key: poorKey })).status).toBe(200);
    },
  );

  it('that cannot take the reservation wakes no model [plan.reservation.first]', async () => {
    const poor = await newOrg(stack(), { tokensPerMonth: 999 });
    await publishCommand('dear', `exec node ${STANDIN} --port $PORT --name dear`, poor);
    const { key: poorKey } = await newKey(stack(), poor);
    await eventually(async () => ((await list(poorKey)).json as { data: object[] }).data.length === 1);
    expect(await send('dear', { key: poorKey })).toMatchObject({ status: 429, code: 'quota_exceeded' });
    const models = await modelsOf(stack(), poor);
    expect(models.map(({ condition }) => condition)).toEqual(['asleep']);
  });
});
