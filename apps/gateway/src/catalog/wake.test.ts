import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { readConfig } from '../config.ts';
import { Catalog, type CatalogModel } from './catalog.ts';
import { type WakeAnswer, Waker } from './wake.ts';

const WAIT_MS = 60_000;
const asleep: CatalogModel = {
  modelId: 'm1',
  orgId: 'o1',
  name: 'text',
  kind: 'text',
  mode: 'wake_on_request',
  contextTokens: 10,
  publishedAtMs: 1,
  condition: 'CONDITION_ASLEEP',
  reason: '',
  wakeable: true,
  replicas: [],
  upstreamModel: '',
  upstreamKey: '',
  version: 1,
};

interface WakeCall {
  readonly deadlineMs: number;
  readonly end: (answer: WakeAnswer) => void;
}

let nowMs: number;
let catalog: Catalog;
let calls: WakeCall[];
let waker: Waker;
let crowds: (() => boolean)[];
beforeEach(() => {
  nowMs = 0;
  calls = [];
  crowds = [];
  catalog = new Catalog();
  catalog.apply({ revision: 1, snapshot: true, models: [asleep], removedModelIds: [] });
  waker = new Waker({
    catalog,
    wake: (_modelId, deadlineMs) => new Promise((end) => calls.push({ deadlineMs, end })),
    retryMs: 1,
    onCrowd: (waits) => crowds.push(waits),
    nowMs: () => nowMs,
  });
});

const wait = (arrivedAtMs = 0) =>
  waker.wait('m1', WAIT_MS, new AbortController().signal, { requestId: 'req_1', arrivedAtMs });
const run = () => {
  const replicas = [{ replicaId: 'a', baseUrl: 'http://a/v1' }];
  const models = [{ ...asleep, condition: 'CONDITION_RUNNING' as const, replicas }];
  catalog.apply({ revision: 2, snapshot: false, models, removedModelIds: [] });
};

describe('a wake of a model', () => {
  it('is one call for all waiting requests, repeated until the runner answers', async () => {
    const waiting = [wait(), wait(), wait()];
    calls[0]?.end('unavailable');
    await eventually(() => calls.length === 2);
    waiting.push(wait());
    expect(calls.length).toBe(2);
    calls[1]?.end('failed');
    expect(await Promise.all(waiting)).toEqual(Array(4).fill('failed'));
  });

  it('lets requests go on in the order of their arrival, as soon as the catalog shows it running', async () => {
    const order: number[] = [];
    const arrivals = [0, 1, 2, 3, 4];
    const waiting = arrivals.map((i) => wait().then(() => order.push(i)));
    run();
    await Promise.all(waiting);
    expect([order, calls.length]).toEqual([arrivals, 1]);
  });

  it('lets a request go on before one that arrived later, though that one was admitted first', async () => {
    const order: number[] = [];
    const arrivals = [2, 1, 4, 3];
    const waiting = arrivals.map((arrivedAtMs) => wait(arrivedAtMs).then(() => order.push(arrivedAtMs)));
    run();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3, 4]);
  });

  it('lets a crowd go on in its order, and at most 32 requests in a turn of the event loop', async () => {
    let turn = 0;
    const count = () => {
      turn++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const turns: number[] = [];
    const order: number[] = [];
    const waiting = Array.from({ length: 80 }, (_, i) =>
      wait().then(() => {
        order.push(i);
        turns.push(turn);
      }),
    );
    run();
    await Promise.all(waiting);
    clearImmediate(counting);
    expect(order).toEqual(waiting.map((_, i) => i));
    expect(turns).toEqual(waiting.map((_, i) => Math.floor(i / 32)));
  });

  it('is called again for requests that have time left after the shared call, with just that time as its deadline', async () => {
    const first = wait();
    nowMs = 50_000;
    const late = wait();
    nowMs = WAIT_MS;
    calls[0]?.end('unavailable');
    await eventually(() => calls.length === 2);
    expect(calls.map(({ deadlineMs }) => deadlineMs)).toEqual([WAIT_MS, 50_000]);
    calls[1]?.end('running');
    run();
    expect(await Promise.all([first, late])).toEqual(['running', 'running']);
  });

  it('is called again when the model has ended before the catalog showed it running', async () => {
    const waiting = [wait(), wait()];
    calls[0]?.end('running');
    await new Promise(setImmediate);
    catalog.apply({ revision: 2, snapshot: true, models: [asleep], removedModelIds: [] });
    await eventually(() => calls.length === 2);
    calls[1]?.end('running');
    run();
    expect(await Promise.all(waiting)).toEqual(['running', 'running']);
    expect(calls.length).toBe(2);
  });

  it('is waited for exactly as long as a cold start may take: a minute by default [limit.cold-start]', async () => {
    jest.useFakeTimers();
    try {
      const addresses = { LIMITER_ADDRESSES: 'limiter:7100', RUNNER_ADDRESS: 'runner:7200' };
      const { COLD_START_MS } = readConfig(addresses);
      let outcome: string | undefined;
      const { signal } = new AbortController();
      void waker.wait('m1', COLD_START_MS, signal, { requestId: 'req_1', arrivedAtMs: 0 }).then((ended) => {
        outcome = ended;
      });
      await jest.advanceTimersByTimeAsync(59_999);
      expect([outcome, calls[0]?.deadlineMs]).toEqual([undefined, 60_000]);
      await jest.advanceTimersByTimeAsync(1);
      expect([outcome, jest.getTimerCount()]).toEqual(['starting', 0]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('reports a waiting crowd once, and can say whether any of it is still waiting', async () => {
    const few = Array.from({ length: 31 }, () => wait());
    expect(crowds).toEqual([]);
    const more = [wait(), wait()];
    expect(crowds.map((waits) => waits())).toEqual([true]);
    run();
    expect(crowds.map((waits) => waits())).toEqual([false]);
    await Promise.all([...few, ...more]);
    catalog.apply({ revision: 3, snapshot: false, models: [asleep], removedModelIds: [] });
    const again = Array.from({ length: 40 }, () => wait());
    expect(crowds.length).toBe(1);
    run();
    await Promise.all(again);
  });
});
