import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { generateText, wrapLanguageModel } from 'ai';
import { ask, post } from '../support/org.ts';
import { aiSdk, heedShouldRetry as heedInAiSdk, modelOf } from './ai-sdk.ts';
import type { Question } from './client.ts';
import { curl } from './curl.ts';
import { chatOf, heedShouldRetry as heedInLangChain, langchain } from './langchain.ts';
import { openai } from './openai.ts';
import { record } from './recorder.ts';
import { recordRetryWaits } from './retry-waits.ts';
import type { World } from './world.ts';

type Ask = (question: Question) => Promise<unknown>;

const ASKERS = {
  openai: openai.whole,
  'the AI SDK': aiSdk.whole,
  'the AI SDK with the middleware': (question) =>
    generateText({
      model: wrapLanguageModel({ model: modelOf(question), middleware: heedInAiSdk }),
      prompt: question.text,
    }),
  curl: curl.whole,
  LangChain: langchain.whole,
  'LangChain with onFailedAttempt': (question) =>
    chatOf(question, { onFailedAttempt: heedInLangChain }).invoke(question.text),
} as const satisfies Record<string, Ask>;
type Asker = keyof typeof ASKERS;

interface Tried {
  readonly codes: readonly (string | undefined)[];
  readonly answered: boolean;
}

/** Asks through a recorder. `before(n)` runs before the nth call reaches the gateway. */
async function tries(
  world: World,
  asker: Asker,
  question: Partial<Question>,
  before?: (n: number) => unknown,
): Promise<Tried> {
  const recorder = await record(world.base, before);
  try {
    const asked = { base: recorder.base, key: world.key, model: 'tide', text: 'x', ...question };
    const answered = await ASKERS[asker](asked).then(
      () => true,
      () => false,
    );
    return { codes: recorder.calls.map(({ code }) => code), answered };
  } finally {
    await recorder.close();
  }
}

/** Returns the result of `work`, and the waits between its retries in milliseconds. */
async function withoutRetryWaits<T>(
  work: () => Promise<T>,
): Promise<{ result: T; waits: readonly number[] }> {
  const waits = recordRetryWaits();
  try {
    return { result: await work(), waits: waits.lengths };
  } finally {
    waits.restore();
  }
}

/** The first wait of a client whose every call is refused with this `Retry-After`. */
async function waitFor(asker: Asker, retryAfterS: number): Promise<number | undefined> {
  const refusal = JSON.stringify({ error: { message: 'x', type: 'x', code: 'rate_limit_exceeded' } });
  const headers = { 'content-type': 'application/json', 'retry-after': `${retryAfterS}` };
  const server = createServer((_, response) => void response.writeHead(429, headers).end(refusal));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const asks: Ask = ASKERS[asker];
  try {
    const { waits } = await withoutRetryWaits(() =>
      asks({ base, key: 'x', model: 'x', text: 'x' }).catch(() => {}),
    );
    return waits[0];
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Call it inside a describe block. */
export function describeRetries(world: () => World): void {
  const CALLS = '%s calls %d times for quota_exceeded and %d times for model_unavailable';
  const countCalls = async (asker: Asker, quota: number, unavailable: number) => {
    const { standin, poorKey } = world();
    const { calls } = standin.stats();
    const { result } = await withoutRetryWaits(async () => [
      await tries(world(), asker, { key: poorKey }),
      await tries(world(), asker, { model: 'stopped' }),
    ]);
    expect(result).toEqual([
      { codes: Array(quota).fill('quota_exceeded'), answered: false },
      { codes: Array(unavailable).fill('model_unavailable'), answered: false },
    ]);
    expect(standin.stats().calls).toBe(calls);
  };
  it.each<[Asker, number, number]>([['openai', 1, 1]])(`${CALLS} [retry.no]`, countCalls);
  it.each<[Asker, number, number]>([
    ['the AI SDK', 3, 3],
    ['the AI SDK with the middleware', 1, 1],
    ['curl', 1, 1],
    ['LangChain', 1, 7],
    ['LangChain with onFailedAttempt', 1, 1],
  ])(CALLS, countCalls);

  it.each<[Asker, number, number]>([
    ['openai', 1000, 1000],
    ['the AI SDK', 1000, 1000],
    ['the AI SDK with the middleware', 1000, 1000],
    // LangChain adds a random part.
    ['LangChain', 1000, 2000],
    ['LangChain with onFailedAttempt', 1000, 2000],
  ])(
    '%s calls again after the Retry-After of a 429, and is answered [retry.after]',
    async (asker, shortest, longest) => {
      const { result, waits } = await withoutRetryWaits(() => refusedOnce(asker));
      expect(result).toEqual({ codes: ['rate_limit_exceeded', undefined], answered: true });
      expect(waits).toHaveLength(1);
      expect(waits[0]).toBeGreaterThanOrEqual(shortest);
      expect(waits[0]).toBeLessThanOrEqual(longest);
    },
  );

  it('openai follows a Retry-After of over a minute, LangChain up to a minute, the AI SDK only below', async () => {
    expect(await waitFor('openai', 61)).toBe(61_000);
    expect(await waitFor('the AI SDK', 59)).toBe(59_000);
    expect(await waitFor('the AI SDK', 60)).toBe(2_000);
    expect(await waitFor('LangChain', 60)).toBeGreaterThanOrEqual(60_000);
    expect(await waitFor('LangChain', 61)).toBeUndefined();
  });

  it('everyone but curl calls again when a model is starting, and is answered [retry.after]', async () => {
    const askers = (Object.keys(ASKERS) as Asker[]).filter((asker) => asker !== 'curl');
    const start = await world().publishSlow();
    let refused = 0;
    // The model starts when every client has been refused, before any of them gets a second call
    // through.
    const startForSecond = async (n: number) => {
      if (n !== 2) return;
      refused++;
      await eventually(() => refused === askers.length);
      await start();
    };
    const { result, waits } = await withoutRetryWaits(() =>
      Promise.all(askers.map((asker) => tries(world(), asker, { model: 'slow' }, startForSecond))),
    );
    expect(result).toEqual(askers.map(() => ({ codes: ['model_starting', undefined], answered: true })));
    // LangChain follows Retry-After only for a 429.
    const langchains = waits.filter((ms) => ms !== 30_000);
    expect(waits).toHaveLength(askers.length);
    expect(langchains).toHaveLength(2);
    for (const ms of langchains) expect(ms).toBeLessThanOrEqual(2000);
  });

  /** The key's one slot is taken at the first attempt and free at the second. */
  async function refusedOnce(asker: Asker): Promise<Tried> {
    const { base, narrowKey: key } = world();
    const free = new AbortController();
    const holder = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(ask('tide', '[[tokens=900]] [[token-ms=50]]', { stream: true })),
      signal: free.signal,
    });
    expect(holder.status).toBe(200);
    return tries(world(), asker, { key }, async (n) => {
      if (n !== 2) return;
      free.abort();
      await eventually(async () => (await post(base, key, ask('tide', 'x'))).status === 200);
    });
  }
}
