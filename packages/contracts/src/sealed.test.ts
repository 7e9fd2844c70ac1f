import { createCipheriv, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseSecretKey, seal, underKey, unseal } from './sealed.ts';

const KEY = randomBytes(32);

/** Version 1 of the form, from before sealed values named their key. */
function sealedWithoutKeyId(key: Uint8Array, text: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 });
  cipher.setAAD(Buffer.of(1));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(1), nonce, cipher.getAuthTag(), sealed]);
}

describe('a sealed secret', () => {
  it('is unsealed under its key to what was sealed', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => unseal([KEY], seal(KEY, text)) === text));
  });

  it('cannot be unsealed under another key', () => {
    expect(unseal([randomBytes(32)], seal(KEY, 'sk-upstream'))).toBeNull();
  });

  it('is unsealed under the previous key while the key is being replaced, and shows which of the two it is under', () => {
    const [current, previous] = [randomBytes(32), randomBytes(32)];
    const [fresh, old] = [seal(current, 'fresh'), seal(previous, 'old')];
    expect([fresh, old].map((sealed) => unseal([current, previous], sealed))).toEqual(['fresh', 'old']);
    expect([fresh, old].map((sealed) => underKey(current, sealed))).toEqual([true, false]);
  });

  it('is unsealed under the current or the previous key even if it was sealed before sealed values named their key', () => {
    const sealed = sealedWithoutKeyId(KEY, 'sk-upstream');
    expect(unseal([KEY], sealed)).toBe('sk-upstream');
    expect(unseal([randomBytes(32), KEY], sealed)).toBe('sk-upstream');
    expect(unseal([randomBytes(32)], sealed)).toBeNull();
    expect(underKey(KEY, sealed)).toBe(false);
  });

  it('cannot be unsealed once any of its bytes has changed, or when cut short', () => {
    const sealed = seal(KEY, 'sk-upstream');
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const altered = Buffer.from(sealed);
        altered[at] = (altered[at] ?? 0) ^ flip;
        return unseal([KEY], altered) === null && unseal([KEY], sealed.subarray(0, at)) === null;
      }),
    );
  });

  it('never looks the same twice and shows no part of the text', () => {
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
