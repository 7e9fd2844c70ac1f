import { describe, expect, it } from '@jest/globals';
import { lastPath, placeOf, sameScreenIn } from './last-place.ts';

const memberships = [
  { slug: 'one', role: 'owner' },
  { slug: 'two', role: 'viewer' },
] as const;
const back = (pathname: string) => lastPath(placeOf(pathname) ?? undefined, memberships);

describe('the last place', () => {
  it('is the screen of the organization, even if the user was on a page of that screen', () => {
    expect(back('/o/two/usage')).toBe('/o/two/usage');
    expect(back('/o/one/keys/key_1')).toBe('/o/one/keys');
  });

  it.each(['/account', '/o/one', '/o/gone/keys', '/o/one/nothing', '/o/two/try', '//evil/keys', ''])(
    'is not kept for %s: the user may not go there, or it is not a screen',
    (pathname) => expect(back(pathname)).toBeNull(),
  );

  it('is never anything but a screen, whatever somebody wrote into the cookie', () => {
    for (const place of ['one', 'one/../../x', 'one/keys/../x', '/', undefined])
      expect(lastPath(place, memberships)).toBe(place === 'one/keys/../x' ? '/o/one/keys' : null);
  });
});

describe('another organization', () => {
  it('opens on the same screen, or on its keys if the role does not have that screen', () => {
    const [one, two] = memberships;
    expect(sameScreenIn(one, '/o/two/usage')).toBe('/o/one/usage');
    expect(sameScreenIn(one, '/o/two/models/mdl_1')).toBe('/o/one/keys');
    expect(sameScreenIn(two, '/o/one/keys/key_1')).toBe('/o/two/keys');
    expect(sameScreenIn(two, '/o/one/try')).toBe('/o/two/keys');
    expect(sameScreenIn(one, '/account')).toBe('/o/one/keys');
  });
});
