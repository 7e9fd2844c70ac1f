import { describe, expect, it } from '@jest/globals';
import { type Progress, stepsOf } from './steps.ts';

const NOTHING: Progress = { models: [], keys: [], requests: 0, errors: 0 };
const steps = (begun: Partial<Progress>) => stepsOf({ ...NOTHING, ...begun });
const model = (
  name: string,
  condition: Progress['models'][number]['condition'],
  reason: string | null = null,
) => ({
  name,
  condition,
  conditionReason: reason,
  replicas: null,
});

describe('the first steps', () => {
  it('are all to be done in an empty organization', () => {
    expect(Object.values(steps({})).map(({ done }) => done)).toEqual([false, false, false]);
  });

  it.each([
    [[model('a', 'running')], true, 'a is running.'],
    [[{ ...model('a', 'running'), replicas: { up: 1, total: 2 } }], true, 'a is running, 1 of 2 up.'],
    [
      [model('a', 'failed', 'x'), model('b', 'asleep')],
      true,
      'b is asleep. It wakes with the first request.',
    ],
    [[model('a', 'starting')], false, 'a is starting.'],
    [[model('a', 'starting', 'No node is free.')], false, 'a is starting. No node is free.'],
    [[model('a', 'stopped')], false, 'a is stopped.'],
    [
      [model('a', 'failed', 'Its server does not answer.\nprinted')],
      false,
      'a cannot be called. Its server does not answer.',
    ],
  ])('tick the model only if one can answer: %j', (models, done, what) => {
    expect(steps({ models }).model).toEqual({ done, says: what });
  });

  it('tick the key if one works', () => {
    expect(steps({ keys: ['Laptop'] }).key).toEqual({ done: true, says: 'Laptop works.' });
    expect(steps({ keys: ['Laptop', 'CI'] }).key).toEqual({ done: true, says: '2 keys work.' });
  });

  it('end with an answer, not with an error', () => {
    expect(steps({ requests: 2, errors: 2 }).request).toEqual({
      done: false,
      says: 'A request has arrived, but ended without a complete answer.',
    });
    expect(steps({ requests: 2, errors: 1 }).request.done).toBe(true);
  });
});
