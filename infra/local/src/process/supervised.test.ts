import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StackError } from '../errors.ts';
import { type Startable, Supervised } from './supervised.ts';

const ALL_BACKOFFS_MS = 60_000;

let ends: ((how: string) => void)[];
let alive: number;

/** Runs are ready immediately, and last until the test or a stop ends them. */
const startable: Startable = {
  name: 'service',
  steadyMs: 10_000,
  launch: async () => {
    let end: (how: string) => void = () => {};
    const exited = new Promise<string>((resolve) => {
      end = resolve;
    });
    alive++;
    ends.push(end);
    void exited.then(() => alive--);
    return { pid: ends.length, exited, ready: async () => true, stop: async () => end('stopped') };
  },
  failure: () => new StackError('It did not start.'),
};

beforeEach(() => {
  jest.useFakeTimers();
  ends = [];
  alive = 0;
});
afterEach(() => {
  jest.useRealTimers();
});

describe('a service that is kept running', () => {
  it.each(['spawned', 'ready'] as const)('runs once, even if the event %s fails', async (event) => {
    let isFull = false;
    const fail = () => {
      if (isFull) throw new Error('no space left on the device');
    };
    const events = { died: () => {}, spawned: () => {}, ready: () => {}, [event]: fail };
    const supervised = new Supervised(startable, events);
    await supervised.start();
    isFull = true;
    for (let restarts = 1; restarts <= 3; restarts++) {
      ends.at(-1)?.('killed');
      await jest.advanceTimersByTimeAsync(ALL_BACKOFFS_MS);
      expect({ alive, launched: ends.length }).toEqual({ alive: 1, launched: 1 + restarts });
    }
    await supervised.stop();
    await jest.advanceTimersByTimeAsync(ALL_BACKOFFS_MS);
    expect(alive).toBe(0);
  });
});
