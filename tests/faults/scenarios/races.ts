import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import type { OrgWish } from '../world/org.ts';
import { CONTEXT_TOKENS, makeOrg } from '../world/orgs.ts';
import { Random } from '../world/random.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const LONG_RACES = 50;
/** A slow machine runs fewer races. */
const LONG_MS = 300_000;
const LONG_REQUESTS = 500;
const HELD_MS = 2_000;

interface Race {
  readonly random: Random;
  readonly name: string;
  readonly requests: number;
}

/** Runs races, each with its own seed: 100 times the run's seed plus a running number. */
const racing = (
  scenario: Pick<Scenario, 'id' | 'name' | 'laws'>,
  race: (world: World, race: Race) => Promise<{ readonly seen: Seen[]; readonly wrong: string | null }>,
): Scenario => ({
  ...scenario,
  unit: 'races',
  run: ({ seed }, size) =>
    underAttack({}, async (world) => {
      const most = size === 'short' ? 2 : LONG_RACES;
      const endMs = Date.now() + LONG_MS;
      let races = 0;
      const violations: string[] = [];
      const all: Seen[] = [];
      for (let i = 0; i < most && Date.now() < endMs; i++) {
        races++;
        const random = new Random(seed * 100 + i);
        const requests = size === 'short' ? 150 : LONG_REQUESTS;
        const { seen, wrong } = await race(world, { random, name: `race-${i}`, requests });
        all.push(...seen);
        if (wrong) violations.push(`race of seed ${random.seed}: ${wrong}; ${codesOf(seen)}`);
      }
      const unquiet = await untilQuiet(world);
      const { violations: unequal, counts } = await audit(world, all);
      return {
        violations: [...violations, ...unquiet, ...unequal],
        trials: races,
        notes: JSON.stringify(counts),
      };
    }),
});

const codesOf = (seen: readonly Seen[]): string =>
  [...new Set(seen.map(({ status, code }) => `${status} ${code ?? ''}`))].join(', ');

const FOUR_KEYS: OrgWish['keys'] = [{}, {}, {}, {}];

/**
 * Many requests at once on a plan that fits exactly K of them. K are answered, whichever gateway
 * and limiter they take.
 */
export const exactQuota = racing(
  { id: 'quota', name: 'quota that fits exactly K, all at once, two gateways', laws: '1, 7' },
  async (world, { random, name, requests }) => {
    const fits = random.whole(1, 60);
    const wish = random.chance(0.5)
      ? { requestsPerMonth: fits }
      : { tokensPerMonth: (fits + 1) * CONTEXT_TOKENS - 1 };
    const org = await makeOrg(world, { ...wish, keys: FOUR_KEYS, models: ['tide'] });
    const asks = Array.from({ length: requests }, (_, i) =>
      // Without usage the full reservation stays charged. So tokens also fit exactly K requests.
      plainAsk(random.pick(org.keys), random.pick(world.gateways), { tag: `${name}-${i}`, usage: false }),
    );
    const seen = await Promise.all(asks.map(send));
    const answered = seen.filter(({ status }) => status === 200).length;
    const refused = seen.filter(({ code }) => code === 'quota_exceeded').length;
    const exact = answered === fits && refused === requests - fits;
    return {
      seen,
      wrong: exact ? null : `${answered} answered and ${refused} refused of ${requests}, ${fits} fit`,
    };
  },
);

/**
 * No client hangs up here, so the model's own count needs no tolerance. It never exceeds a cap, and
 * reaches it.
 */
export const slots = racing(
  { id: 'slots', name: 'in flight at the model, all at once, two gateways', laws: '1' },
  async (world, { random, name, requests }) => {
    const atOnce = random.whole(1, 40);
    const keys = Array.from({ length: 4 }, () => ({ atOnce: random.whole(1, 20) }));
    const org = await makeOrg(world, { atOnce, keys, models: ['tide'] });
    const asks = Array.from({ length: requests }, (_, i) =>
      plainAsk(random.pick(org.keys), random.pick(world.gateways), {
        tag: `${name}-${i}`,
        // All requests arrive before the first has ended, so that every slot is taken at once.
        headMs: random.whole(HELD_MS, 1.5 * HELD_MS),
      }),
    );
    const seen = await Promise.all(asks.map(send));
    const { witness } = world;
    const above = [{ id: org.id, atOnce }, ...org.keys].filter((one) => witness.mostOf(one.id) > one.atOnce);
    const most = witness.mostOf(org.id);
    const reach = Math.min(
      atOnce,
      keys.reduce((sum, key) => sum + key.atOnce, 0),
    );
    const refusedOtherwise = seen.filter(({ status }) => status !== 200 && status !== 429).length;
    const wrong =
      above.length > 0 || most < reach || refusedOtherwise > 0
        ? `most in flight ${most}, ${reach} fit; above their caps: ${above.map(({ id }) => id)}; ${refusedOtherwise} errors`
        : null;
    return { seen, wrong };
  },
);
