import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newApiKey, parseApiKey } from './api-key.ts';
import { BASE62, newOrgId, orgIdOfTag, orgTagOf, randomBase62 } from './ids.ts';

describe('API key values', () => {
  it('parse to the organization and the hash that they were generated with', () => {
    const orgId = newOrgId();
    const key = newApiKey(orgTagOf(orgId));
    const parsed = parseApiKey(key.value);
    expect(orgIdOfTag(parsed?.orgTag ?? '')).toBe(orgId);
    expect(parsed?.hash.equals(key.hash)).toBe(true);
    expect(key.value).toMatch(/^ti_[0-9A-Za-z]{54}$/);
    expect(key.value.startsWith(key.prefix)).toBe(true);
  });

  it('are told apart by the prefix shown in lists', () => {
    const tag = randomBase62(12);
    const prefixes = Array.from({ length: 50 }, () => newApiKey(tag).prefix);
    expect(new Set(prefixes).size).toBe(50);
  });

  it('with one character mistyped are refused without a look-up', () => {
    const { value } = newApiKey(randomBase62(12));
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: value.length - 1 }),
        fc.constantFrom(...BASE62),
        (at, character) => {
          fc.pre(value[at] !== character);
          expect(parseApiKey(value.slice(0, at) + character + value.slice(at + 1))).toBeNull();
        },
      ),
    );
  });

  it.each(['', 'sk-abc'])('that do not begin with ti_ are refused: %j [key.value.prefix]', (value) =>
    expect(parseApiKey(value)).toBeNull(),
  );

  it.each(['ti_', ` ${newApiKey(randomBase62(12)).value}`, `${newApiKey(randomBase62(12)).value}x`])(
    'of another form are refused: %j',
    (value) => expect(parseApiKey(value)).toBeNull(),
  );
});

describe('random base62', () => {
  it('favours no character', () => {
    const counts = new Map<string, number>();
    for (const character of randomBase62(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // 1,000 of each are expected, with a standard deviation of 31. 250 off would be eight
    // deviations.
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(250);
  });
});
