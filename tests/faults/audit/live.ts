import { readFileSync } from 'node:fs';
import type { Org } from '../world/org.ts';
import type { World } from '../world/world.ts';

const SCRIPT = readFileSync(new URL('./live.lua', import.meta.url), 'utf8');

/** What Redis has of one organization at one instant. */
export interface Live {
  /** The number of open records, and the sum of tokens that they reserve. */
  readonly open: number;
  readonly openReserved: number;
  readonly openLarge: number;
  /** For each key: its id, its counted slots, and its open records. */
  readonly keys: readonly (readonly [string, number, number])[] | Record<string, never>;
  readonly inFlight: number;
  readonly large: number;
  readonly requests: number;
  readonly charged: number;
  readonly reserved: number;
  readonly outbox: number;
  /**
   * The limiter time from which it admits again after a loss of its state. 0: there was no loss.
   */
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
