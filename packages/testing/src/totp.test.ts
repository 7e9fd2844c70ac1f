import { describe, expect, it } from '@jest/globals';
import { totp } from './totp.ts';

/** The key of RFC 6238's examples, in base32. */
const URI = 'otpauth://totp/Example:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('an authenticator app', () => {
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [20_000_000_000, '353130'],
  ])('shows the codes of RFC 6238: after %i s, %s', (seconds, code) => {
    expect(totp(URI, seconds * 1_000)).toBe(code);
  });
});
