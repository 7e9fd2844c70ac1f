import { describe, expect, it } from '@jest/globals';
import { type Findable, found } from './find.ts';

const one = (group: Findable['group'], name: string, hint?: string): Findable => ({
  group,
  id: name,
  name,
  href: `/${name}`,
  ...(hint === undefined ? {} : { hint }),
});
const ALL = [
  one('Screens', 'Usage'),
  one('Keys', 'Night reports', 'ti_abc…'),
  one('Models', 'night-owl'),
  ...Array.from({ length: 20 }, (_, i) => one('Members', `m${i}@example.com`)),
];
const names = (text: string) => found(ALL, text).map(({ name }) => name);

describe('what is found', () => {
  it('has each word in its name or hint, in upper or lower case', () => {
    expect(names('NIGHT')).toEqual(['Night reports', 'night-owl']);
    expect(names('reports  night')).toEqual(['Night reports']);
    expect(names('ti_abc')).toEqual(['Night reports']);
    expect(names('nothing')).toEqual([]);
  });

  it('is every screen if nothing is typed, and at most 8 of each group otherwise', () => {
    expect(names(' ')).toEqual(['Usage']);
    expect(names('example')).toHaveLength(8);
  });
});
