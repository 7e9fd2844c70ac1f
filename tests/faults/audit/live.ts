import { readFileSync } from 'node:fs';
import type { Org } from '../world/org.ts';
import type { World } from '../world/world.ts';

const SCRIPT = readFileSync(new URL('./live.lua', import.meta.url), 'utf8');

/** What Redis holds of one organization at one instant. */
export interface Live {
  /** Open records, and what those of them that are reserved add up to. */
  readonly open: number;
  readonly openReserved: number;
  readonly openLarge: number;
  /** Id, slots counted, open records. */
  readonly keys: readonly (readonly [string, number, number])[] | Record<string, never>;
  readonly inFlight: number;
  readonly large: number;
  readonly requests: number;
  readonly charged: number;
  readonly reserved: number;
  readonly outbox: number;
  /** Limiter time from which it admits again after its state was lost; 0: none was. */
  readonly opensMs: number;
  /** Open records by gateway instance. */
  readonly instances: Readonly<Record<string, number>>;
}

/** YYYY-MM, UTC. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

export async function readLive(world: World, org: Org, month = monthOf(world.nowMs())): Promise<Live> {
  const prefix = `tg:{${org.tag}}:`;
  return JSON.parse(String(await world.redis.eval(SCRIPT, 1, `${prefix}org`, prefix, month)));
}
