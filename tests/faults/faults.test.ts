import { describe, expect, it } from '@jest/globals';
import { killsOf } from './scenarios/kills.ts';
import { Random } from './world/random.ts';

/** Runs one seed of the campaign's first scenario. run.mjs runs the others. */
const SEED = 1;
const TIMEOUT_MS = 600_000;

describe('a gateway, a limiter, Redis and Postgres killed one after the other, under load', () => {
  it(
    'leave every count equal, every cap kept and no slot taken',
    async () => {
      const kills = killsOf('kills', 'kills', ['gateway', 'limiter', 'redis', 'postgres']);
      const { violations, trials } = await kills.run(new Random(SEED), 'short');
      expect(violations).toEqual([]);
      expect(trials).toBe(4);
    },
    TIMEOUT_MS,
  );
});
