import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { Load } from '../load/load.ts';
import { pause } from '../world/random.ts';
import { fiveOrgs } from './kills.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

/** Longer than a lease, so that the gateway's lease is reaped. */
const PAUSE_MS = 20_000;
/**
 * So short that the model has finished everything the gateway had begun before the lease runs out.
 */
const LONGEST_MS = 1_500;

/**
 * A gateway is paused until after its lease and resumes. Nothing settles twice, and no cap is
 * exceeded when it returns.
 */
export const pausedGateway: Scenario = {
  id: 'pause',
  name: 'gateway stopped for 20 s (SIGSTOP)',
  laws: '1, 2, 3',
  unit: 'pauses',
  run: (random, size) =>
    underAttack({}, async (world) => {
      await fiveOrgs(world, 4);
      const load = new Load(world, random, { clients: 32, hangUps: 0.1, restMs: 150, longestMs: LONGEST_MS });
      const pauses = size === 'short' ? 1 : 8;
      for (let i = 0; i < pauses; i++) {
        const gateway = random.pick(['gateway', 'gateway-2']);
        await pause(random.whole(500, 2_000));
        world.stack.kill(gateway, 'SIGSTOP');
        world.paused.add(gateway);
        await pause(PAUSE_MS);
        world.paused.delete(gateway);
        world.stack.kill(gateway, 'SIGCONT');
      }
      await pause(2_000);
      const seen = await load.stop();
      const unquiet = await untilQuiet(world);
      const { violations, counts } = await audit(world, seen, { gatewaysPaused: true });
      return { violations: [...unquiet, ...violations], trials: pauses, notes: JSON.stringify(counts) };
    }),
};
