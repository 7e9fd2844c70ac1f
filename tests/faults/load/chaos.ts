import { pause, type Random } from '../world/random.ts';
import type { World } from '../world/world.ts';

export const EVERYTHING = [
  'gateway',
  'gateway-2',
  'limiter',
  'limiter-2',
  'metering',
  'runner',
  'redis',
  'postgres',
] as const;

export type Victim = (typeof EVERYTHING)[number];

export interface KillOptions {
  readonly kills: number;
  /** No kills after this time. */
  readonly withinMs?: number;
  readonly victims: readonly Victim[];
  /** The shortest and longest pause between a victim's return and the next kill. */
  readonly betweenMs?: readonly [number, number];
}

/**
 * Kills victims at moments that the seed determines, each when the previous one is back. All
 * victims get their turn, in shuffled order.
 */
export async function killAtRandom(world: World, random: Random, options: KillOptions): Promise<Victim[]> {
  const [least, most] = options.betweenMs ?? [100, 1_500];
  const killed: Victim[] = [];
  const endMs = Date.now() + (options.withinMs ?? Number.POSITIVE_INFINITY);
  let bag: Victim[] = [];
  while (killed.length < options.kills && Date.now() < endMs) {
    if (bag.length === 0) bag = shuffled(options.victims, random);
    await pause(random.whole(least, most));
    const victim = bag.pop() as Victim;
    killed.push(victim);
    await world.kill(victim);
  }
  return killed;
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((value) => ({ value, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
