import { describe, expect, it } from '@jest/globals';
import { sentWith } from './choices.ts';

const some = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `${i}`, name: `Key ${i}` }));

describe('choices of a filter', () => {
  it('are all sent with the page if they are few', () => {
    expect(sentWith(some(50), '7', 'keys')).toEqual({ options: some(50) });
  });

  it('are fetched when needed if they are many, except for what is chosen', () => {
    expect(sentWith(some(51), '7', 'keys')).toEqual({
      options: [{ id: '7', name: 'Key 7' }],
      more: 'keys',
    });
    expect(sentWith(some(51), '', 'models')).toEqual({ options: [], more: 'models' });
  });
});
