import { describe, expect, it } from '@jest/globals';
import { RequestQueue } from './request-queue.ts';

const LIMITS = { atOnce: 2, maxWaiting: 3, countedMs: 2 ** 30 };

/** Notes which requests begin, and in which order. Ends none by itself. */
function observed(limits = LIMITS) {
  const queue = new RequestQueue(limits);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (name: string, address = name): boolean => {
    const turn = queue.take(address);
    void turn?.then((end) => {
      begun.push(name);
      ends.push(end);
    });
    return turn !== null;
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (): Promise<void> => {
    await settled();
    ends.shift()?.();
    await settled();
  };
  return { ask, begun, end, settled, ends };
}

const finish = async ({ ends, end }: ReturnType<typeof observed>) => {
  for (let i = 0; i < 20; i++) await end();
  expect(ends).toEqual([]);
};

describe('requests', () => {
  it('begin a few at a time, and addresses take turns', async () => {
    const watched = observed();
    const { ask, begun, end, settled } = watched;
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) ask(name, 'a');
    ask('b1', 'b');
    ask('c1', 'c');
    ask('b2', 'b');
    await settled();
    expect(begun).toEqual(['a1', 'a2']);
    for (let i = 0; i < 6; i++) await end();
    expect(begun.slice(2)).toEqual(['a3', 'b1', 'c1', 'a4', 'b2', 'a5']);
    await finish(watched);
  });

  it('are refused when too many from the same address wait, and those from other addresses are not', async () => {
    const watched = observed();
    const { ask } = watched;
    expect(['1', '2', '3', '4', '5', '6'].map((name) => ask(name, 'a'))).toEqual([
      ...[true, true, true, true, true],
      false,
    ]);
    expect(ask('b')).toBe(true);
    await finish(watched);
    expect(ask('7', 'a')).toBe(true);
    await finish(watched);
  });

  it('that take long hold up others for a moment only, and end once', async () => {
    const watched = observed({ ...LIMITS, atOnce: 1, countedMs: 1 });
    const { ask, begun, ends } = watched;
    const turns = new Promise<void>((resolve) => {
      const look = () => (begun.length === 3 ? resolve() : setTimeout(look, 1));
      look();
    });
    for (const name of ['a', 'b', 'c']) ask(name);
    await turns;
    expect(ends).toHaveLength(3);
    for (const end of ends.splice(0)) end();
    for (const name of ['d', 'e']) ask(name);
    await watched.settled();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await watched.end();
    await finish(watched);
  });
});
