import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairSemaphore } from './fair-semaphore.ts';

/** Acquires the semaphore and records for whom. */
function started(options: { permits: number; maxWaiting: number }) {
  const semaphore = new FairSemaphore(options);
  const acquired: string[] = [];
  const acquire = async (orgId: string): Promise<boolean> => {
    const got = await semaphore.acquire(orgId);
    if (got) acquired.push(orgId);
    return got;
  };
  const settle = () => new Promise(setImmediate);
  return { semaphore, acquired, acquire, settle };
}

describe('a fair semaphore', () => {
  it('serves waiting organizations round robin, and the callers of each in order', async () => {
    const { semaphore, acquired, acquire, settle } = started({ permits: 1, maxWaiting: 32 });
    for (const orgId of ['a', 'a', 'a', 'a', 'b', 'c', 'c']) void acquire(orgId);
    await settle();
    expect(acquired).toEqual(['a']);
    for (let ended = 0; ended < 6; ended++) {
      semaphore.release();
      await settle();
    }
    expect(acquired.join('')).toBe('aabcaca');
  });

  it('lets an organization have a quarter of the waiting callers, at least one, and refuses those beyond', async () => {
    for (const [maxWaiting, ofOrg] of [
      [32, 8],
      [8, 2],
      [3, 1],
    ] as const) {
      const { acquire, settle } = started({ permits: 1, maxWaiting });
      await acquire('running');
      const refused: string[] = [];
      for (const orgId of ['a', 'b', 'c', 'd', 'e'])
        for (let i = 0; i <= ofOrg; i++) void acquire(orgId).then((got) => got || refused.push(orgId));
      await settle();
      const places = Math.floor(maxWaiting / ofOrg);
      const expected = ['a', 'b', 'c', 'd', 'e'].flatMap((orgId, index) =>
        Array(index < places ? 1 : ofOrg + 1).fill(orgId),
      );
      expect(refused).toEqual(expected);
    }
  });

  it('never exceeds its permits, and serves everyone who waits, in any order of calls', async () => {
    const step = fc.constantFrom('a', 'b', 'c', 'end');
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, permits) => {
          const { semaphore, acquired, acquire, settle } = started({ permits, maxWaiting: 8 });
          const taken: Promise<boolean>[] = [];
          let ended = 0;
          for (const next of steps) {
            if (next !== 'end') taken.push(acquire(next));
            else if (acquired.length > ended) {
              semaphore.release();
              ended++;
            }
            await settle();
            expect(acquired.length - ended).toBeLessThanOrEqual(permits);
          }
          for (; acquired.length > ended; ended++) {
            semaphore.release();
            await settle();
          }
          expect((await Promise.all(taken)).filter((got) => got).length).toBe(ended);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('rejects everyone who waits, and everyone who comes later, once it is closed', async () => {
    const { semaphore, acquire, settle } = started({ permits: 1, maxWaiting: 8 });
    await acquire('a');
    const waiting = Promise.allSettled([acquire('a'), acquire('b')]);
    semaphore.close();
    expect((await waiting).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(acquire('b')).rejects.toThrow('closed');
    semaphore.release();
    await settle();
    await expect(acquire('a')).rejects.toThrow('closed');
  });
});
