import { afterEach, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { Pieces } from './pieces.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

it('pieces are joined in order, however they are split, and are then dropped', () => {
  const sizes = fc.array(fc.nat(3), { maxLength: 10_000, size: 'max' });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const pieces = new Pieces();
      const all = lengths.map((length, i) => Buffer.alloc(length, i % 251));
      for (const piece of all) pieces.add(piece);
      const whole = Buffer.concat(all);
      expect(pieces.bytes).toBe(whole.length);
      expect(pieces.take().equals(whole)).toBe(true);
      expect([pieces.bytes, pieces.take().length]).toEqual([0, 0]);
    }),
    { numRuns: 30 },
  );
});

it('large pieces are never copied until they are joined, and small ones between them are merged', () => {
  const size = fc.oneof(fc.nat(100), fc.integer({ min: 16_384, max: 16_500 }));
  fc.assert(
    fc.property(fc.array(size, { maxLength: 300, size: 'max' }), (lengths) => {
      const pieces = new Pieces();
      const all = lengths.map((length, i) => Buffer.alloc(length, i % 251));
      for (const piece of all) pieces.add(piece);
      const taken = pieces.takePieces();
      const large = all.filter(({ length }) => length >= 16_384);
      expect(Buffer.concat(taken).equals(Buffer.concat(all))).toBe(true);
      expect(large.every((piece) => taken.includes(piece))).toBe(true);
      expect(taken.length).toBeLessThanOrEqual(2 * large.length + 1);
      expect([pieces.bytes, pieces.takePieces()]).toEqual([0, []]);
    }),
    { numRuns: 100 },
  );
});

it('a single piece is returned as it is', () => {
  const pieces = new Pieces();
  const piece = Buffer.from('one');
  pieces.add(piece);
  expect(pieces.take()).toBe(piece);
});

it('2 MiB in single bytes are never more than a few buffers, and each byte is copied only a few times', () => {
  const bytes = 2 * 1024 * 1024;
  let held = 0;
  let copied = 0;
  const concat = Buffer.concat;
  jest.spyOn(Buffer, 'concat').mockImplementation((list, totalBytes) => {
    const one = concat(list, totalBytes);
    held -= list.length - 1;
    copied += one.length;
    return one;
  });
  const pieces = new Pieces();
  const byte = Buffer.from('x');
  let mostHeld = 0;
  for (let i = 0; i < bytes; i++) {
    pieces.add(byte);
    mostHeld = Math.max(mostHeld, ++held);
  }
  expect(pieces.take().length).toBe(bytes);
  expect(held).toBe(1);
  expect(mostHeld).toBeLessThanOrEqual(512);
  expect(copied).toBeLessThanOrEqual(5 * bytes);
});
