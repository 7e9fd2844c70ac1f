import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { Load } from '../load/load.ts';
import { pause } from '../world/random.ts';
import { fiveOrgs } from './kills.ts';
import type { Scenario } from './scenario.ts';
import { within } from './within.ts';

/** Clients that go away in every phase: each counted request settled once, each slot free. */
export const hangUps: Scenario = {
  id: 'hang-ups',
  name: 'clients hang up in every phase',
  laws: '1, 2, 3',
  unit: 'hang-ups',
  run: (random, size) =>
    within({}, async (world) => {
      await fiveOrgs(world, 4);
      const load = new Load(world, random, { clients: 32, hangUps: 0.9, longestMs: 600 });
      await pause(size === 'short' ? 5_000 : 90_000);
      const seen = await load.stop();
      const unquiet = await untilQuiet(world);
      const { violations, counts } = await audit(world, seen);
      const trials = seen.filter(({ ask }) => ask.hangUp !== null).length;
      return { violations: [...unquiet, ...violations], trials, notes: JSON.stringify(counts) };
    }),
};
