import { Sampler } from '../audit/sampler.ts';
import { World, type WorldOptions } from '../world/world.ts';
import type { Outcome } from './scenario.ts';

/**
 * Runs an attack on its own stack, while the sampler watches the live state. Always stops the
 * stack.
 */
export async function underAttack(
  options: WorldOptions,
  attack: (world: World) => Promise<Outcome>,
): Promise<Outcome> {
  const world = await World.start(options);
  const sampler = new Sampler(world);
  try {
    const outcome = await attack(world);
    return { ...outcome, violations: [...outcome.violations, ...(await sampler.stop())] };
  } finally {
    await sampler.stop();
    await world.stop();
  }
}
