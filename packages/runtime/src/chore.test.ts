import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { startChore } from './chore.ts';

beforeEach(() => void jest.useFakeTimers({ now: 0 }));
afterEach(() => void jest.useRealTimers());

const ignore = () => {};

it('chores of different intervals run at the same instants, so that they wake an idle process together', async () => {
  await jest.advanceTimersByTimeAsync(137);
  const runs: number[] = [];
  const run = async () => {
    runs.push(Math.round(performance.now()));
  };
  const chores = [2_000, 10_000].map((everyMs) => startChore({ everyMs, run, onError: ignore }));
  await jest.advanceTimersByTimeAsync(20_000);
  const wakes = [...new Set(runs)];
  expect(wakes.length).toBeGreaterThan(8);
  expect(wakes.every((ms, i) => i === 0 || ms - (wakes[i - 1] ?? 0) === 2_000)).toBe(true);
  await Promise.all(chores.map((chore) => chore.stop()));
  expect(jest.getTimerCount()).toBe(0);
});

it('a chore whose run takes more than half of its interval runs again at the next multiple', async () => {
  const starts: number[] = [];
  const run = async () => {
    starts.push(Math.round(performance.now()));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  };
  const chore = startChore({ everyMs: 2_000, run, onError: ignore });
  await jest.advanceTimersByTimeAsync(7_000);
  expect(starts.map((ms) => ms - (starts[0] ?? 0))).toEqual([0, 2_000, 4_000]);
  const stopped = chore.stop();
  await jest.advanceTimersByTimeAsync(2_000);
  await stopped;
});

it('a chore that takes longer than its interval never runs twice at once, and one that fails runs again', async () => {
  let running = 0;
  let runs = 0;
  let failures = 0;
  const run = async () => {
    runs++;
    expect(++running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    running--;
    throw new Error('always');
  };
  const chore = startChore({ everyMs: 1_000, run, onError: () => failures++ });
  await jest.advanceTimersByTimeAsync(30_000);
  expect(runs).toBeGreaterThan(5);
  expect(failures).toBeGreaterThanOrEqual(runs - 1);
  const stopped = chore.stop();
  await jest.advanceTimersByTimeAsync(5_000);
  await stopped;
  expect(jest.getTimerCount()).toBe(0);
});

it('a chore can begin immediately, and be tried again soon after it failed', async () => {
  await jest.advanceTimersByTimeAsync(400);
  const starts: number[] = [];
  const run = async () => {
    starts.push(Math.round(performance.now()));
    if (starts.length === 1) throw new Error('once');
  };
  const chore = startChore({ everyMs: 60_000, retryMs: 1_000, due: true, run, onError: ignore });
  await jest.advanceTimersByTimeAsync(119_000);
  expect(starts).toEqual([400, 1_000, 60_000]);
  await chore.stop();
  expect(jest.getTimerCount()).toBe(0);
});

it('a chore with more to do can run sooner, and after a failure waits for its interval', async () => {
  const starts: number[] = [];
  const run = async () => {
    starts.push(Math.round(performance.now()));
    if (starts.length === 3) throw new Error('once');
  };
  const nextMs = () => (starts.length < 5 ? 1_000 : 10_000);
  const chore = startChore({ everyMs: 10_000, nextMs, run, onError: ignore });
  await jest.advanceTimersByTimeAsync(39_000);
  expect(starts.map((ms) => ms - (starts[0] ?? 0))).toEqual([0, 1_000, 2_000, 10_000, 11_000, 20_000]);
  await chore.stop();
});
