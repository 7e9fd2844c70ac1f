import { expect, it } from '@jest/globals';
import { postgresTooOld } from './server-version.ts';

it.each(['14.0', '15.18 (Debian 15.18-0+deb12u1)', '18.4', '19beta1', '100.1'])(
  'Postgres %s is new enough',
  (version) => expect(postgresTooOld(version)).toBeNull(),
);

it.each([
  ['13.23 (Debian 13.23-1.pgdg120+1)', '13.23'],
  ['9.6.24', '9.6.24'],
])('Postgres %s is too old', (version, shown) =>
  expect(postgresTooOld(version)).toBe(`Postgres ${shown} is too old: Tidegate needs version 14 or newer`),
);
