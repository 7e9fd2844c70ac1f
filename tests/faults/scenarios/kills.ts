import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { killAtRandom, type Victim } from '../load/chaos.ts';
import { Load } from '../load/load.ts';
import type { OrgWish } from '../world/org.ts';
import { CONTEXT_TOKENS, makeOrg } from '../world/orgs.ts';
import type { World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const SHORT_KEYS = 4;
const LONG_KEYS = 10;
const LONG_KILLS = 40;
/** A slow machine makes fewer kills. */
const LONG_MS = 280_000;

/**
 * For a busy machine, where a limiter may stand still. An answer that did not wait for it would be
 * an error if its gateway were killed just then. Only the kill of a limiter or of Redis excuses
 * that.
 */
const WITHOUT_STALLS = { env: { gateway: { SETTLE_WAIT_MS: '20000' } } };

/**
 * Creates five organizations. Each has a different limit to exceed: slots, keys' slots, requests a
 * minute, and the month's requests and tokens.
 */
export async function fiveOrgs(world: World, keysEach: number): Promise<void> {
  const keys = (of: (i: number) => OrgWish['keys'][number]) =>
    Array.from({ length: keysEach }, (_, i) => of(i));
  await makeOrg(world, { atOnce: 8, keys: keys((i) => ({ atOnce: 1 + (i % 4) })) });
  await makeOrg(world, { atOnce: 40, keys: keys((i) => ({ atOnce: 2, rpm: i % 2 ? 40 : 6_000 })) });
  await makeOrg(world, { requestsPerMinute: 200, atOnce: 10, keys: keys(() => ({ atOnce: 6 })) });
  await makeOrg(world, { requestsPerMonth: 800, atOnce: 6, keys: keys(() => ({ atOnce: 6 })) });
  await makeOrg(world, { tokensPerMonth: 80 * CONTEXT_TOKENS, atOnce: 6, keys: keys(() => ({ atOnce: 6 })) });
}

export const killsOf = (id: string, name: string, victims: readonly Victim[]): Scenario => ({
  id,
  name,
  laws: '1, 2, 3',
  unit: 'kills',
  run: (random, size) =>
    underAttack(size === 'short' ? WITHOUT_STALLS : {}, async (world) => {
      const short = size === 'short';
      await fiveOrgs(world, short ? SHORT_KEYS : LONG_KEYS);
      const startedMs = Date.now();
      const load = new Load(world, random, { clients: short ? 16 : 32, hangUps: 0.1, restMs: 150 });
      await killAtRandom(world, random, {
        kills: short ? victims.length : LONG_KILLS,
        withinMs: LONG_MS,
        victims,
      });
      const seen = await load.stop();
      const unquiet = await untilQuiet(world);
      const { violations, counts } = await audit(world, seen);
      const moments = world.kills.map(({ victim, atMs }) => `${victim}@${atMs - startedMs}`);
      return {
        violations: [...unquiet, ...violations],
        trials: world.kills.length,
        notes: `${JSON.stringify(counts)} ${moments.join(' ')}`,
      };
    }),
});
