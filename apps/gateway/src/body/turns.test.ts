import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Turns } from './turns.ts';

/** Takes turns and records whose turns began. */
function started(options: { atOnce: number; maxWaiting: number }) {
  const turns = new Turns(options);
  const began: string[] = [];
  const take = async (orgId: string): Promise<boolean> => {
    const got = await turns.take(orgId);
    if (got) began.push(orgId);
    return got;
  };
  const settle = () => new Promise(setImmediate);
  return { turns, began, take, settle };
}

describe('Turns', () => {
  it('go round robin over the organizations that wait, in order within each', async () => {
    const { turns, began, take, settle } = started({ atOnce: 1, maxWaiting: 32 });
    for (const orgId of ['a', 'a', 'a', 'a', 'b', 'c', 'c']) void take(orgId);
    await settle();
    expect(began).toEqual(['a']);
    for (let ended = 0; ended < 6; ended++) {
      turns.end();
      await settle();
    }
    expect(began.join('')).toBe('aabcaca');
  });

  it('leave an organization a quarter of the places to wait, one at least, and all together their number', async () => {
    for (const [maxWaiting, ofOrg] of [
      [32, 8],
      [8, 2],
      [3, 1],
    ] as const) {
      const { take, settle } = started({ atOnce: 1, maxWaiting });
      await take('running');
      const refused: string[] = [];
      for (const orgId of ['a', 'b', 'c', 'd', 'e'])
        for (let i = 0; i <= ofOrg; i++) void take(orgId).then((got) => got || refused.push(orgId));
      await settle();
      const places = Math.floor(maxWaiting / ofOrg);
      const expected = ['a', 'b', 'c', 'd', 'e'].flatMap((orgId, index) =>
        Array(index < places ? 1 : ofOrg + 1).fill(orgId),
      );
      expect(refused).toEqual(expected);
    }
  });

  it('are never more at once than allowed, and all that wait come to theirs, whatever the order', async () => {
    const step = fc.constantFrom('a', 'b', 'c', 'end');
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, atOnce) => {
          const { turns, began, take, settle } = started({ atOnce, maxWaiting: 8 });
          const taken: Promise<boolean>[] = [];
          let ended = 0;
          for (const next of steps) {
            if (next !== 'end') taken.push(take(next));
            else if (began.length > ended) {
              turns.end();
              ended++;
            }
            await settle();
            expect(began.length - ended).toBeLessThanOrEqual(atOnce);
          }
          for (; began.length > ended; ended++) {
            turns.end();
            await settle();
          }
          expect((await Promise.all(taken)).filter((got) => got).length).toBe(ended);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('end with a rejection of all who wait, and of all who come later, when closed', async () => {
    const { turns, take, settle } = started({ atOnce: 1, maxWaiting: 8 });
    await take('a');
    const waiting = Promise.allSettled([take('a'), take('b')]);
    turns.close();
    expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(take('b')).rejects.toThrow('closed');
    turns.end();
    await settle();
    await expect(take('a')).rejects.toThrow('closed');
  });
});
