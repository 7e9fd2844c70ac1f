import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OpenCalls } from './open-calls.ts';

describe('open calls', () => {
  it('are found by their numbers as in a Map, even when some stay open for long', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const) }),
      fc.record({ kind: fc.constant('take' as const), at: fc.nat(400) }),
      fc.record({ kind: fc.constant('oldest' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
        const calls = new OpenCalls<{ id: number }>();
        const map = new Map<number, { id: number }>();
        for (const [id, move] of steps.entries()) {
          if (move.kind === 'add') {
            map.set(calls.nextNumber, { id });
            calls.add({ id });
          } else if (move.kind === 'take') {
            expect(calls.take(move.at)).toEqual(map.get(move.at));
            map.delete(move.at);
          } else {
            const [oldest] = map;
            expect(calls.takeOldestIf(() => true)).toEqual(oldest?.[1]);
            if (oldest) map.delete(oldest[0]);
          }
          expect(calls.size).toBe(map.size);
        }
      }),
    );
  });

  it('are not taken if the oldest one does not match', () => {
    const calls = new OpenCalls<string>();
    calls.add('first');
    calls.add('second');
    expect(calls.takeOldestIf((call) => call === 'second')).toBeUndefined();
    expect(calls.size).toBe(2);
  });

  it('are found under the numbers that they were given, even after 2^32 calls', () => {
    const calls = new OpenCalls<number>(2 ** 32 - 2);
    const numbers = [0, 1, 2, 3].map((call) => {
      const number = calls.nextNumber;
      calls.add(call);
      return number;
    });
    expect(numbers).toEqual([2 ** 32 - 2, 2 ** 32 - 1, 0, 1]);
    expect(calls.take(2)).toBeUndefined();
    expect([3, 1, 0, 2].map((at) => calls.take(numbers[at] as number))).toEqual([3, 1, 0, 2]);
  });
});
