import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sameSitePath, signInPath } from './next-path.ts';

const SITE = 'https://console.example';

describe('the page after signing in', () => {
  it.each([
    ['/o/demo/usage?key=key_1&model=mdl_2', '/o/demo/usage?key=key_1&model=mdl_2'],
    ['/o/demo/keys?_rsc=1a2b', '/o/demo/keys'],
    ['/o/demo/audit?before=evt_1&_rsc=1a2b', '/o/demo/audit?before=evt_1'],
    ['//elsewhere.example', '/'],
    ['/\\elsewhere.example', '/'],
    ['/\t/elsewhere.example', '/'],
    ['/.//elsewhere.example', '/'],
    ['https://elsewhere.example/', '/'],
    ['javascript:alert(1)', '/'],
    ['o/demo', '/'],
    ['', '/'],
    [null, '/'],
  ])('is a path of this console: for %j it is %s', (wished, path) => {
    expect(sameSitePath(wished)).toBe(path);
  });

  it('is never on another site', () => {
    const parts = fc.constantFrom('/', '\\', '.', '..', ':', '@', '?', '#', '%2f', '\t', '\n', 'a', 'http');
    const wish = fc.oneof(
      fc.string(),
      fc.array(parts).map((all) => `/${all.join('')}`),
    );
    fc.assert(
      fc.property(wish, (wished) => {
        const path = sameSitePath(wished);
        expect(new URL(path, SITE).origin).toBe(SITE);
        expect(sameSitePath(path)).toBe(path);
      }),
    );
  });

  it('is kept in the address of the sign-in page, even after a failed attempt', () => {
    expect(signInPath('/o/demo/usage?key=k')).toBe('/sign-in?next=%2Fo%2Fdemo%2Fusage%3Fkey%3Dk');
    expect(signInPath('/')).toBe('/sign-in');
    expect(signInPath('/o/demo/keys', 'provider')).toBe('/sign-in?next=%2Fo%2Fdemo%2Fkeys&error=provider');
    expect(signInPath('//elsewhere.example', 'provider')).toBe('/sign-in?error=provider');
  });
});
