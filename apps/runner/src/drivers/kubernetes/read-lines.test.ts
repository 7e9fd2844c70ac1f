import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { linesOf } from './read-lines.ts';

async function* pieces(body: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (const size of [...sizes, body.length]) {
    yield body.subarray(at, at + size);
    at += size;
  }
}

async function linesIn(body: Buffer, sizes: readonly number[], maxLength: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(pieces(body, sizes), maxLength)) lines.push(line);
  return lines;
}

describe('lines of a body', () => {
  it('are whole however the body is cut, without empty ones and without a last one that is cut off', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '😀', ' ', '\n') });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(5)), async (body, sizes) => {
        const lines = await linesIn(Buffer.from(body), sizes, 1_000);
        const whole = body.split('\n').slice(0, -1);
        expect(lines).toEqual(whole.filter((line) => line.trim() !== ''));
      }),
    );
  });

  it.each([
    [10, true],
    [11, false],
  ])('may have 10 characters each if that is the limit: %i', async (length, may) => {
    const lines = linesIn(Buffer.from('x'.repeat(length)), [4, 4], 10);
    await (may ? expect(lines).resolves.toEqual([]) : expect(lines).rejects.toThrow('too long'));
  });
});
