import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { Load } from '../load/load.ts';
import { pause } from '../world/random.ts';
import { fiveOrgs } from './kills.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const LONG_HANG_UPS = 10_000;
/** A slow machine makes fewer hang-ups in this time. */
const LONG_MS = 300_000;
const SHORT_MS = 5_000;

/** Clients hang up in every phase. Each counted request settles once, and each slot is freed. */
export const hangUps: Scenario = {
  id: 'hang-ups',
  name: 'clients hang up in every phase',
  laws: '1, 2, 3',
  unit: 'hang-ups',
  run: (random, size) =>
    underAttack({}, async (world) => {
      await fiveOrgs(world, 4);
      const endMs = Date.now() + (size === 'short' ? SHORT_MS : LONG_MS);
      const load = new Load(world, random, { clients: 32, hangUps: 0.9, longestMs: 600 });
      const count = () => load.seen.filter(({ ask }) => ask.hangUp !== null).length;
      while (Date.now() < endMs && count() < LONG_HANG_UPS) await pause(500);
      const seen = await load.stop();
      const unquiet = await untilQuiet(world);
      const { violations, counts } = await audit(world, seen);
      return { violations: [...unquiet, ...violations], trials: count(), notes: JSON.stringify(counts) };
    }),
};
