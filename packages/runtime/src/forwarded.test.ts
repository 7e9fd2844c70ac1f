import { describe, expect, it } from '@jest/globals';
import { createProxyWarning } from './forwarded.ts';

function start(trustedProxies: number) {
  const warned: unknown[] = [];
  const warn = (...words: unknown[]) => void warned.push(words);
  return { warned, check: createProxyWarning(trustedProxies, { warn }) };
}

describe('X-Forwarded-For', () => {
  it('is warned about once when no proxy is configured, in upper or lower case', () => {
    const { warned, check } = start(0);
    check(['Host', 'a', 'Accept', 'X-Forwarded-For']);
    expect(warned).toEqual([]);
    check(['Host', 'a', 'X-FORWARDED-For', '192.0.2.1']);
    check(['x-forwarded-for', '192.0.2.1']);
    expect(warned).toEqual([[expect.stringContaining('set TRUSTED_PROXIES')]]);
  });

  it('is expected behind a proxy', () => {
    const { warned, check } = start(1);
    check(['X-Forwarded-For', '192.0.2.1']);
    expect(warned).toEqual([]);
  });
});
