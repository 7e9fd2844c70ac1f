import { describe, expect, it } from '@jest/globals';
import { MAX_IMAGES, readImages, withImages } from './images.ts';

const DOT = { name: 'dot.png', url: 'data:image/png;base64,AA==' };

describe('images to send', () => {
  it('have different ids even if they are the same file, so that one of them can be removed', () => {
    const two = withImages(withImages([], [DOT]), [DOT]);
    const left = two.filter(({ id }) => id !== two[0]?.id);
    expect(left).toEqual([{ ...DOT, id: two[1]?.id }]);
    expect(new Set(withImages(left, [DOT, DOT]).map(({ id }) => id)).size).toBe(3);
  });

  it('are limited in number', () => {
    expect(withImages([], Array(MAX_IMAGES + 1).fill(DOT))).toHaveLength(MAX_IMAGES);
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
