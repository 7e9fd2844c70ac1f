import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Pieces } from './pieces.ts';

it('pieces come back as one, in order, however many they are, and are then forgotten', () => {
  const sizes = fc.array(fc.nat(3), { maxLength: 2_000, size: 'max' });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const pieces = new Pieces();
      const all = lengths.map((length, i) => Buffer.alloc(length, i % 256));
      for (const piece of all) pieces.add(piece);
      const whole = Buffer.concat(all);
      expect(pieces.bytes).toBe(whole.length);
      expect(pieces.take().equals(whole)).toBe(true);
      expect([pieces.bytes, pieces.take().length]).toEqual([0, 0]);
    }),
    { numRuns: 30 },
  );
});
