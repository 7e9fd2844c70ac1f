import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { LimiterReply } from './session.ts';
import { Unacknowledged } from './unacknowledged.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const done = { callId: 1, withdraw: {} } as unknown as LimiterReply;

/** Unacknowledged calls to a limiter that answers as the test decides. */
function start() {
  const asked = { times: 0, answer: null as LimiterReply | null };
  const call = async () => {
    asked.times++;
    return asked.answer;
  };
  return { asked, calls: new Unacknowledged({ call, retryMs: 500, waitMs: 1_000 }) };
}

it('calls are retried until the limiter acknowledges them, and then nothing wakes the process', async () => {
  const { asked, calls } = start();
  void calls.send('ins_1', {});
  await jest.advanceTimersByTimeAsync(2_000);
  expect(asked.times).toBe(5);
  expect(calls.size).toBe(1);
  asked.answer = done;
  await jest.advanceTimersByTimeAsync(500);
  expect(calls.size).toBe(0);
  expect(jest.getTimerCount()).toBe(0);
});

it('more calls than one retry may send are sent by the next retries', async () => {
  const { asked, calls } = start();
  for (let i = 0; i < 2_500; i++) void calls.send('ins_1', {});
  await jest.advanceTimersByTimeAsync(0);
  asked.answer = done;
  await jest.advanceTimersByTimeAsync(1_500);
  expect(calls.size).toBe(0);
});

it('nothing is retried automatically after a stop', async () => {
  const { asked, calls } = start();
  void calls.send('ins_1', {});
  calls.stop();
  await jest.advanceTimersByTimeAsync(5_000);
  expect(asked.times).toBe(1);
});
