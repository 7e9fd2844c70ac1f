import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { killAtRandom, type Victim } from '../load/chaos.ts';
import { Load } from '../load/load.ts';
import { CONTEXT_TOKENS, type World } from '../world/world.ts';
import type { Scenario } from './scenario.ts';
import { within } from './within.ts';

/** Organizations with something to exceed: slots, a minute's requests, a month's requests and tokens. */
export async function manyLimits(world: World, orgs: number): Promise<void> {
  for (let i = 0; i < orgs; i++) {
    const keys = [{ atOnce: 3 }, { atOnce: 3 }, { atOnce: 2 }, { atOnce: 4, rpm: 40 }];
    await world.makeOrg({ atOnce: 8, keys });
  }
  await world.makeOrg({ requestsMonth: 150, atOnce: 6, keys: [{ atOnce: 6 }, { atOnce: 6 }] });
  await world.makeOrg({ tokensMonth: 60 * CONTEXT_TOKENS, atOnce: 6, keys: [{ atOnce: 6 }, { atOnce: 6 }] });
}

export const killsOf = (name: string, victims: readonly Victim[]): Scenario => ({
  name,
  laws: '1, 2, 3',
  unit: 'kills',
  run: (random, size) =>
    within({}, async (world) => {
      await manyLimits(world, size === 'short' ? 1 : 3);
      const load = new Load(world, random, { clients: size === 'short' ? 16 : 32, hangUps: 0.1 });
      const killed = await killAtRandom(world, random, {
        kills: size === 'short' ? victims.length : 24,
        victims,
      });
      const seen = await load.stop();
      const unquiet = await untilQuiet(world);
      const { violations, counts } = await audit(world, seen);
      return {
        violations: [...unquiet, ...violations],
        trials: killed.length,
        notes: `${JSON.stringify(counts)} ${killed.join(' ')}`,
      };
    }),
});
