import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countTokens, tokenize } from './tokens.ts';

describe('the tokenizer', () => {
  it('loses nothing: the tokens of any text, put together, are the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(tokenize(text).join('')).toBe(text);
      }),
    );
  });

  it.each([
    ['', 0],
    ['Hello', 1],
    ['Hello you', 2],
    ['unbelievable', 2],
    ['a, b', 3],
    ['\n\n', 2],
    ['🌊', 1],
  ])('counts %j as %d', (text, tokens) => {
    expect(countTokens(text)).toBe(tokens);
  });
});
