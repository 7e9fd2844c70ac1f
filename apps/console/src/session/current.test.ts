import { describe, expect, it } from '@jest/globals';
import type { RefusalCode } from '@tidegate/control';
import { read } from './current.ts';

const readRefused = (code: RefusalCode) => () => read({ ok: false, refusal: { code, message: 'why' } });

describe('what a screen reads', () => {
  it.each(['not_found', 'invalid_input', 'forbidden'] as const)(
    'is reported as not found if it is refused as %s',
    (code) => {
      expect(readRefused(code)).toThrow('NEXT_HTTP_ERROR_FALLBACK;404');
    },
  );

  it('fails for any other reason', () => {
    expect(readRefused('unavailable')).toThrow('why');
    expect(read({ ok: true, value: 1 })).toBe(1);
  });
});
