import { expect, it } from '@jest/globals';
import { openRedisClock } from './clock.ts';

const NOBODY = '127.0.0.1:1';

it.each([
  ['a server', `redis://${NOBODY}`],
  ['a cluster', `redis+cluster://${NOBODY}`],
  ['all Sentinels', `redis+sentinel://${NOBODY}/main`],
])('while %s cannot be reached, reading the time fails instead of waiting forever', async (_what, url) => {
  const clock = openRedisClock(url, () => {}, 3_000);
  try {
    await expect(clock.nowMs()).rejects.toThrow(/ECONNREFUSED|slots|unreachable/);
  } finally {
    clock.close();
  }
});
