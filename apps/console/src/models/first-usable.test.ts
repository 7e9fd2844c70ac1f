import { describe, expect, it } from '@jest/globals';
import { firstUsable } from './first-usable.ts';

const model = (name: string, condition: Parameters<typeof firstUsable>[0][number]['condition']) => ({
  name,
  condition,
});

describe('the first usable model', () => {
  const all = [
    model('a', 'failed'),
    model('b', 'stopped'),
    model('c', 'starting'),
    model('d', 'asleep'),
    model('e', 'running'),
    model('f', 'running'),
  ];

  it('is one that runs, or wakes, or is starting, in this order and then in list order', () => {
    expect(firstUsable(all)?.name).toBe('e');
    expect(firstUsable(all.slice(0, 4))?.name).toBe('d');
    expect(firstUsable(all.slice(0, 3))?.name).toBe('c');
  });

  it('does not exist if all are stopped or have failed', () => {
    expect(firstUsable(all.slice(0, 2))).toBeUndefined();
    expect(firstUsable([])).toBeUndefined();
  });
});
