import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Ring } from './ring.ts';

type Step = { push: number } | { dropBelow: number } | { keepOdd: true };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ push: fc.nat(99) }) },
  fc.record({ dropBelow: fc.nat(99) }),
  fc.constant({ keepOdd: true } as const),
);

describe('a ring', () => {
  it('behaves like an array that drops its oldest value when it is full', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), (capacity, steps) => {
        const ring = new Ring<number>(capacity);
        let model: number[] = [];
        for (const taken of steps) {
          if ('push' in taken) {
            ring.push(taken.push);
            model = [...model, taken.push].slice(-capacity);
          } else if ('dropBelow' in taken) {
            ring.dropWhile((value) => value < taken.dropBelow);
            const stays = model.findIndex((value) => value >= taken.dropBelow);
            model = stays === -1 ? [] : model.slice(stays);
          } else {
            ring.keep((value) => value % 2 === 1);
            model = model.filter((value) => value % 2 === 1);
          }
          expect([...ring]).toEqual(model);
          expect(ring.size).toBe(model.length);
        }
      }),
    );
  });
});
