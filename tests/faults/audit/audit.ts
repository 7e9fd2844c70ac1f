import type { Seen } from '../load/ask.ts';
import type { World } from '../world/world.ts';
import { type GatherOptions, gather } from './evidence.ts';
import { judge } from './judge.ts';

export interface Audit {
  readonly violations: string[];
  /** What was compared, for readers of a run. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Compares everyone's counts with each other, once everything is quiet. */
export async function audit(
  world: World,
  seen: readonly Seen[],
  options: GatherOptions = {},
): Promise<Audit> {
  const evidence = await gather(world, seen, options);
  const { rows, calls, excused } = evidence;
  const lost = rows.filter(({ errorCode }) => errorCode === 'gateway_lost');
  const lostIds = new Set(lost.map(({ id }) => id));
  return {
    violations: judge(evidence),
    counts: {
      requests: seen.length,
      calls: calls.length,
      rows: rows.length,
      answered: rows.filter(({ answered }) => answered).length,
      lost: lost.length,
      hungUp: rows.filter(({ errorCode }) => errorCode === 'client_closed').length,
      excused: [...excused].filter(({ complete, id }) => complete && lostIds.has(id ?? '')).length,
    },
  };
}
