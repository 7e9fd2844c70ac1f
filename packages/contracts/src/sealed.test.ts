import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { open, parseSecretKey, seal } from './sealed.ts';

const KEY = randomBytes(32);

describe('a sealed secret', () => {
  it('opens under its key to what was sealed', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => open(KEY, seal(KEY, text)) === text));
  });

  it('does not open under another key', () => {
    expect(open(randomBytes(32), seal(KEY, 'sk-upstream'))).toBeNull();
  });

  it('does not open once any of its bytes has changed, or when cut short', () => {
    const sealed = seal(KEY, 'sk-upstream');
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const altered = Buffer.from(sealed);
        altered[at] = (altered[at] ?? 0) ^ flip;
        return open(KEY, altered) === null && open(KEY, sealed.subarray(0, at)) === null;
      }),
    );
  });

  it('never looks the same twice and shows nothing of the text', () => {
    const sealed = seal(KEY, 'sk-upstream');
    expect(sealed.equals(seal(KEY, 'sk-upstream'))).toBe(false);
    expect(sealed.includes('sk-upstream')).toBe(false);
  });
});

describe('the secret key setting', () => {
  it('is 32 bytes of base64, padded or not', () => {
    expect(parseSecretKey(KEY.toString('base64'))?.equals(KEY)).toBe(true);
    expect(parseSecretKey(KEY.toString('base64').replace(/=+$/, ''))?.equals(KEY)).toBe(true);
  });

  it.each(['', 'short', randomBytes(31).toString('base64'), `${KEY.toString('base64')}!`])(
    'is refused as %p',
    (value) => {
      expect(parseSecretKey(value)).toBeNull();
    },
  );
});
