import type { Seen } from '../load/ask.ts';
import type { Limits } from '../world/org.ts';
import type { WitnessedCall } from '../world/witness.ts';
import type { World } from '../world/world.ts';
import { monthOf, readLive } from './live.ts';
import { type DayTotal, type MonthTotal, type Row, readDays, readMonths, readRows } from './rows.ts';

/** What the judge must know about an organization. */
export interface OrgFacts {
  readonly id: string;
  readonly slug: string;
  readonly most: Limits;
  readonly keys: readonly { readonly id: string; readonly rpm: number }[];
  /** The model ids by published name. */
  readonly models: ReadonlyMap<string, string>;
}

/** The limiter's own count for a month. */
export interface Ledger extends MonthTotal {
  readonly reserved: number;
}

/** Everyone's own counts, once everything is quiet. */
export interface Evidence {
  readonly orgs: readonly OrgFacts[];
  /** The model's count. */
  readonly calls: readonly WitnessedCall[];
  /** The limiter's counts. */
  readonly ledgers: readonly Ledger[];
  /** What Postgres has. */
  readonly rows: readonly Row[];
  readonly days: readonly DayTotal[];
  readonly months: readonly MonthTotal[];
  /** What the clients saw. */
  readonly seen: readonly Seen[];
  /**
   * Complete answers whose settlement may not have reached the limiter, because of two faults
   * within seconds.
   */
  readonly excused: ReadonlySet<Seen>;
  /** Times when the model had more in flight than a cap allows. */
  readonly aboveCaps: readonly string[];
}

/** Records a sentence if something does not hold. */
export type Must = (holds: boolean, text: () => string) => void;

export interface GatherOptions {
  /**
   * Gateways were paused. Requests that they had answered may be errors, because the limiter did
   * not hear of it in time.
   */
  readonly gatewaysPaused?: boolean;
}

/**
 * A gateway waits a second for a settlement's acknowledgement. It repeats the settlement for as
 * long as its lease lasts.
 */
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

/**
 * Whether an answer was sent while no limiter could take its settlement, and the gateway was killed
 * before one could.
 */
function settlementWasLost(world: World, { ask, endedMs }: Seen): boolean {
  const backendKilled = world.backendKills.some(
    ({ atMs }) => atMs <= endedMs && endedMs - atMs < SETTLING_MS,
  );
  const gatewayKilled = world
    .killsOfGateway(ask.gateway)
    .some((atMs) => atMs >= endedMs - 100 && atMs - endedMs < SETTLING_MS);
  return backendKilled && gatewayKilled;
}
