import type { Seen } from '../load/ask.ts';
import type { Limits } from '../world/org.ts';
import type { WitnessedCall } from '../world/witness.ts';
import type { World } from '../world/world.ts';
import { monthOf, readLive } from './live.ts';
import { type DayTotal, type MonthTotal, type Row, readDays, readMonths, readRows } from './rows.ts';

/** An organization, as far as the judge has to know it. */
export interface OrgFacts {
  readonly id: string;
  readonly slug: string;
  readonly most: Limits;
  readonly keys: readonly { readonly id: string; readonly rpm: number }[];
  /** Ids by published name. */
  readonly models: ReadonlyMap<string, string>;
}

/** The limiter's own count of a month. */
export interface Ledger extends MonthTotal {
  readonly reserved: number;
}

/** Everybody's counts, as they say them themselves when all is quiet. */
export interface Evidence {
  readonly orgs: readonly OrgFacts[];
  /** The model's. */
  readonly calls: readonly WitnessedCall[];
  /** The limiter's. */
  readonly ledgers: readonly Ledger[];
  /** Postgres'. */
  readonly rows: readonly Row[];
  readonly days: readonly DayTotal[];
  readonly months: readonly MonthTotal[];
  /** The clients'. */
  readonly seen: readonly Seen[];
  /** Whole answers whose settlement two faults within seconds may have kept from the limiter. */
  readonly excused: ReadonlySet<Seen>;
  /** What the model saw in flight above a cap. */
  readonly aboveCaps: readonly string[];
}

/** Notes a sentence for what does not hold. */
export type Must = (holds: boolean, text: () => string) => void;

export interface GatherOptions {
  /** Gateways stood still: what they had answered may be an error, for the limiter had not heard of it in time. */
  readonly gatewaysPaused?: boolean;
}

/** A gateway waits a second for a settlement's acknowledgement, and sends it again for as long as its lease lasts. */
const SETTLING_MS = 10_000;

export async function gather(
  world: World,
  seen: readonly Seen[],
  options: GatherOptions = {},
): Promise<Evidence> {
  const [rows, days, months] = await Promise.all([readRows(world), readDays(world), readMonths(world)]);
  const names = new Set([monthOf(world.nowMs()), ...rows.map(({ atMs }) => monthOf(atMs))]);
  const ledgers: Ledger[] = [];
  for (const org of world.orgs) {
    for (const month of names) {
      const { requests, charged, reserved } = await readLive(world, org, month);
      ledgers.push({ org: org.id, month, requests, charged, reserved });
    }
  }
  const excused = seen.filter((one) => options.gatewaysPaused || settlementWasLost(world, one));
  return {
    orgs: world.orgs,
    calls: world.witness.calls,
    ledgers,
    rows,
    days,
    months,
    seen,
    excused: new Set(excused),
    aboveCaps: world.witness.violations,
  };
}

/** The answer left while no limiter could take its settlement, and its gateway was killed before one could. */
function settlementWasLost(world: World, { ask, endedMs }: Seen): boolean {
  const limiterAway = world.killsBehind.some(({ atMs }) => atMs <= endedMs && endedMs - atMs < SETTLING_MS);
  const gatewayKilled = world
    .killsOfGateway(ask.gateway)
    .some((atMs) => atMs >= endedMs - 100 && atMs - endedMs < SETTLING_MS);
  return limiterAway && gatewayKilled;
}
