import { describe, expect, it } from '@jest/globals';
import { readImages, withImages } from './images.ts';

const DOT = { name: 'dot.png', url: 'data:image/png;base64,AA==' };

describe('images to send', () => {
  it('have different ids even if they are the same file, so that one of them can be removed', () => {
    const two = withImages(withImages([], [DOT], 4), [DOT], 4);
    const left = two.filter(({ id }) => id !== two[0]?.id);
    expect(left).toEqual([{ ...DOT, id: two[1]?.id }]);
    expect(new Set(withImages(left, [DOT, DOT], 4).map(({ id }) => id)).size).toBe(3);
  });

  it('are no more than there is room for', () => {
    expect(withImages([], Array(5).fill(DOT), 4)).toHaveLength(4);
    expect(withImages([], [DOT], 0)).toEqual([]);
  });

  it('that cannot be read are named, and the others keep their order', async () => {
    const files = ['a', 'gone', 'b'].map((name) => ({ name }));
    const read = async ({ name }: { name: string }) => {
      if (name === 'gone') throw new Error('unreadable');
      return `data:${name}`;
    };
    expect(await readImages(files, read)).toEqual({
      images: [
        { name: 'a', url: 'data:a' },
        { name: 'b', url: 'data:b' },
      ],
      unreadable: ['gone'],
    });
  });
});
