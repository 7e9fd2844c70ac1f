import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { itWhere } from './it-where.ts';

const ci = process.env.CI;
let tests: Map<string, () => void>;
let skipped: string[];
beforeEach(() => {
  tests = new Map();
  skipped = [];
});
afterEach(() => {
  if (ci === undefined) delete process.env.CI;
  else process.env.CI = ci;
});

/** Takes the place of jest's `it`, and only notes what it is given. */
const noted = Object.assign((title: string, test: () => void) => void tests.set(title, test), {
  skip: (title: string) => void skipped.push(title),
  each: () => (title: string, test: () => void) => void tests.set(title, test),
});

describe('a test that needs what not every machine has', () => {
  it.each(['true', ''])('runs where it is given, with CI=%j', (value) => {
    process.env.CI = value;
    expect(itWhere(noted, true, 'root')).toBe(noted);
  });

  it('is skipped elsewhere, and reported so', () => {
    delete process.env.CI;
    itWhere(noted, false, 'root')('opens nothing', () => {});
    expect({ tests: [...tests.keys()], skipped }).toEqual({ tests: [], skipped: ['opens nothing'] });
  });

  it('fails in CI instead, and says what it needs', () => {
    process.env.CI = 'true';
    const asRoot = itWhere(noted, false, 'root');
    asRoot('opens nothing', () => {});
    asRoot.each()('reads nothing', () => {});
    for (const title of ['opens nothing', 'reads nothing'])
      expect(tests.get(title)).toThrow('This test needs root, and CI skips none.');
    expect(skipped).toEqual([]);
  });
});
