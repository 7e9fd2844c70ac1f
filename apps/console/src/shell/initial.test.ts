import { describe, expect, it } from '@jest/globals';
import { initialOf } from './initial.ts';

describe('the initial of a name', () => {
  it.each([
    ['Ada', 'A'],
    ['😀 Bob', '😀'],
    ['𝒜da', '𝒜'],
    ['', ''],
  ])('of %j is %j', (name, initial) => {
    expect(initialOf(name)).toBe(initial);
  });
});
