import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import type { GetRequest, GetResponse, NoAnswer } from './get.ts';
import { SharedAnswers } from './shared-answers.ts';

const OK: GetResponse = { status: 200, contentType: 'application/json', body: '{}' };
const LONG_MS = 60_000;
const server = (key: string, path = '/v1/models'): GetRequest => ({
  url: `http://127.0.0.1:1${path}`,
  key,
  timeoutMs: LONG_MS,
});

/** Servers that answer when the test says so. */
function start(freshMs: number) {
  const asked: { answer: (answer: GetResponse | NoAnswer) => void; signal: AbortSignal }[] = [];
  const answers = new SharedAnswers(
    freshMs,
    (_request, signal) => new Promise((answer) => asked.push({ answer, signal })),
  );
  const get = (request: GetRequest, signal = new AbortController().signal) => answers.get(request, signal);
  return { asked, get };
}

describe('models of the same server', () => {
  it('share one request, and its answer for a while', async () => {
    const { asked, get } = start(LONG_MS);
    const both = [get(server('k')), get(server('k'))];
    asked[0]?.answer(OK);
    expect(await Promise.all(both)).toEqual([OK, OK]);
    expect(await get(server('k'))).toBe(OK);
    expect(asked).toHaveLength(1);
  });

  it('share nothing if their keys or paths differ', async () => {
    const { asked, get } = start(LONG_MS);
    const all = [get(server('k')), get(server('other')), get(server('')), get(server('k', '/health'))];
    for (const { answer } of asked) answer(OK);
    await Promise.all(all);
    expect(asked).toHaveLength(4);
  });

  it('ask again when the answer is no longer fresh', async () => {
    const { asked, get } = start(1);
    const first = get(server('k'));
    asked[0]?.answer(OK);
    await first;
    await eventually(() => {
      void get(server('k'));
      return asked.length === 2;
    });
  });

  it('share the finding that a path takes no GET', async () => {
    const { asked, get } = start(LONG_MS);
    const noGet = { ...OK, status: 405 };
    const first = get(server('k'));
    asked[0]?.answer(noGet);
    await first;
    expect(await get(server('k'))).toBe(noGet);
    expect(asked).toHaveLength(1);
  });

  it.each<[string, GetResponse | NoAnswer]>([
    ['does not answer', 'connection refused'],
    ['refuses', { ...OK, status: 401 }],
    ['fails', { ...OK, status: 503 }],
  ])('ask again immediately when it %s', async (_how, answer) => {
    const { asked, get } = start(LONG_MS);
    const first = get(server('k'));
    asked[0]?.answer(answer);
    expect(await first).toEqual(answer);
    void get(server('k'));
    expect(asked).toHaveLength(2);
  });

  it('end the request when none of them waits for it any more, and the next one asks again', async () => {
    const { asked, get } = start(LONG_MS);
    const [one, two] = [new AbortController(), new AbortController()];
    const both = [get(server('k'), one.signal), get(server('k'), two.signal)];
    one.abort();
    expect(asked[0]?.signal.aborted).toBe(false);
    two.abort();
    expect(asked[0]?.signal.aborted).toBe(true);
    const next = get(server('k'));
    expect(asked).toHaveLength(2);
    asked[0]?.answer('no answer in time');
    asked[1]?.answer(OK);
    await Promise.all(both);
    expect(await next).toBe(OK);
  });
});
