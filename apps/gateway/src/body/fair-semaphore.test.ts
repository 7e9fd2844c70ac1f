import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairSemaphore } from './fair-semaphore.ts';

/** Acquires the semaphore and records for whom. Cooldowns end when the test ends them. */
function started(options: { permits: number; maxWaiting: number }) {
  const cooldowns: { ms: number; end: () => void }[] = [];
  const semaphore = new FairSemaphore({ ...options, after: (end, ms) => cooldowns.push({ ms, end }) });
  const acquired: string[] = [];
  const acquire = async (orgId: string, signal?: AbortSignal): Promise<boolean> => {
    const got = await semaphore.acquire(orgId, signal);
    if (got) acquired.push(orgId);
    return got;
  };
  const settle = () => new Promise(setImmediate);
  return { semaphore, cooldowns, acquired, acquire, settle };
}

describe('a fair semaphore', () => {
  it('serves waiting organizations round robin, and the callers of each in order', async () => {
    const { semaphore, acquired, acquire, settle } = started({ permits: 1, maxWaiting: 32 });
    for (const orgId of ['a', 'a', 'a', 'a', 'b', 'c', 'c']) void acquire(orgId);
    await settle();
    expect(acquired).toEqual(['a']);
    for (let ended = 0; ended < 6; ended++) {
      semaphore.release(acquired[ended] as string);
      await settle();
    }
    expect(acquired.join('')).toBe('aabcaca');
  });

  it('gives an organization one permit at a time, however many are free, and the rest to others', async () => {
    const { semaphore, acquired, acquire, settle } = started({ permits: 2, maxWaiting: 32 });
    for (const orgId of ['a', 'a', 'a', 'b', 'c']) void acquire(orgId);
    await settle();
    expect(acquired.join('')).toBe('ab');
    semaphore.release('b');
    await settle();
    expect(acquired.join('')).toBe('abc');
    semaphore.release('a');
    await settle();
    expect(acquired.join('')).toBe('abca');
  });

  it('lets an organization cool down after a permit, while others are served immediately', async () => {
    const { semaphore, cooldowns, acquired, acquire, settle } = started({ permits: 1, maxWaiting: 32 });
    for (const orgId of ['a', 'a', 'b']) void acquire(orgId);
    await settle();
    semaphore.release('a', 7);
    await settle();
    expect(acquired.join('')).toBe('ab');
    semaphore.release('b');
    await settle();
    expect([acquired.join(''), cooldowns.map(({ ms }) => ms)]).toEqual(['ab', [7]]);
    cooldowns[0]?.end();
    await settle();
    expect(acquired.join('')).toBe('aba');
  });

  it('lets an organization cool down until its last cooldown is over, even if that one begins later', async () => {
    const { semaphore, cooldowns, acquired, acquire, settle } = started({ permits: 2, maxWaiting: 32 });
    for (const orgId of ['a', 'a', 'a']) void acquire(orgId);
    await settle();
    semaphore.release('a', 2);
    semaphore.coolDown('a', 10);
    cooldowns[0]?.end();
    await settle();
    expect(acquired.join('')).toBe('a');
    cooldowns[1]?.end();
    await settle();
    expect(acquired.join('')).toBe('aa');
    semaphore.coolDown('a', 10);
    semaphore.release('a');
    await settle();
    expect([acquired.join(''), cooldowns.map(({ ms }) => ms)]).toEqual(['aa', [2, 10, 10]]);
    cooldowns[2]?.end();
    await settle();
    expect(acquired.join('')).toBe('aaa');
  });

  it('lets an organization have a quarter of the waiting callers, but at least one, and refuses the rest', async () => {
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

  it('never gives more than its permits, or more than one to an organization, and serves everyone who waits, in any order of calls', async () => {
    const step = fc.constantFrom('a', 'b', 'c', 'end', 'end and cool down', 'wake');
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, permits) => {
          const { semaphore, cooldowns, acquired, acquire, settle } = started({ permits, maxWaiting: 8 });
          const taken: Promise<boolean>[] = [];
          let ended = 0;
          const end = (cooldownMs: number) => semaphore.release(acquired[ended++] as string, cooldownMs);
          for (const next of steps) {
            if (next === 'wake') cooldowns.shift()?.end();
            else if (next.length === 1) taken.push(acquire(next));
            else if (acquired.length > ended) end(next === 'end' ? 0 : 1);
            await settle();
            const held = acquired.slice(ended);
            expect(held.length).toBeLessThanOrEqual(permits);
            expect(new Set(held).size).toBe(held.length);
          }
          while (acquired.length > ended || cooldowns.length > 0) {
            if (acquired.length > ended) end(0);
            cooldowns.shift()?.end();
            await settle();
          }
          expect((await Promise.all(taken)).filter((got) => got).length).toBe(ended);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('lets a caller leave while it waits, and frees its place for another one', async () => {
    const { semaphore, acquired, acquire, settle } = started({ permits: 1, maxWaiting: 4 });
    const leaving = new AbortController();
    expect(await acquire('a', leaving.signal)).toBe(true);
    const left = acquire('b', leaving.signal);
    expect(await acquire('b')).toBe(false);
    leaving.abort();
    expect(await left).toBe(false);
    expect(await acquire('c', leaving.signal)).toBe(false);
    for (const orgId of ['b', 'c']) void acquire(orgId);
    for (const orgId of ['a', 'b', 'c']) {
      semaphore.release(orgId);
      await settle();
    }
    expect(acquired.join('')).toBe('abc');
  });
});
