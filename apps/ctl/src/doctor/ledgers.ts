import type { Db } from '@tidegate/db';
import type { LiveOrg, LiveStateReader } from './live-state.ts';
import { type Finding, fine, some, wrong } from './report.ts';

/** Metering writes within a second, and the limiter publishes again after 30 s. */
const OLD_MS = 120_000;
const DEAD_MS = 30_000;

/** What `examineLedgers` looks at. */
export const LEDGER_CHECKS = ['ledgers', 'outbox', 'reservations'] as const;

interface Settled {
  readonly requests: number;
  readonly charged: number;
}

const NOTHING: Settled = { requests: 0, charged: 0 };

export interface LedgerDeps {
  readonly db: Db;
  readonly live: LiveStateReader;
  /** YYYY-MM */
  readonly month: string;
}

/** Looks at the month ledger, the outbox and the reservations of every organization. */
export async function examineLedgers({ db, live, month }: LedgerDeps): Promise<Finding[]> {
  const orgs = await db.org.findMany({ select: { id: true, slug: true }, orderBy: { id: 'asc' } });
  const nowMs = await live.nowMs();
  const before = await settledIn(db, month);
  const states: { slug: string; id: string; state: LiveOrg }[] = [];
  for (const { id, slug } of orgs) states.push({ slug, id, state: await live.org(id, month) });
  const after = await settledIn(db, month);
  const differing = states.flatMap(({ slug, id, state }) => {
    const problem = differenceOf(state, before.get(id) ?? NOTHING, after.get(id) ?? NOTHING);
    return problem === null ? [] : [`${slug}: ${problem}`];
  });
  const old = states.flatMap(({ slug, state: { outbox, oldestMs } }) => {
    const ageMs = nowMs - (oldestMs ?? nowMs);
    return ageMs > OLD_MS ? [`${slug}: ${outbox}, the oldest for ${Math.floor(ageMs / 1_000)} s`] : [];
  });
  const sum = (of: (state: LiveOrg) => number) => states.reduce((total, { state }) => total + of(state), 0);
  const gateways = (await live.instances()).length;
  return [
    ledgerFinding(differing, month),
    outboxFinding(
      old,
      sum(({ outbox }) => outbox),
    ),
    reservationFinding({
      reserved: sum((state) => state.month?.reserved ?? 0),
      inFlight: sum(({ inFlight }) => inFlight),
      gateways,
    }),
  ];
}

async function settledIn(db: Db, month: string): Promise<ReadonlyMap<string, Settled>> {
  const totals = await db.monthTotal.findMany({ where: { month } });
  return new Map(
    totals.map(({ orgId, requests, chargedTokens }) => [
      orgId,
      { requests: Number(requests), charged: Number(chargedTokens) },
    ]),
  );
}

/**
 * Says how Redis differs from Postgres more than it may: it may be ahead by what waits in the
 * outbox or is in progress. Null: it does not.
 *
 * @param before what Postgres had before Redis was read: Redis has at least that
 * @param after what Postgres had afterwards
 */
export function differenceOf(
  { month, outbox, inFlight }: LiveOrg,
  before: Settled,
  after: Settled,
): string | null {
  if (month === null) return null;
  const [fewer, more] = [before.requests - month.requests, month.requests - after.requests];
  const moreTokens = month.charged - after.charged;
  if (fewer > 0) return `Redis has ${fewer} fewer requests than Postgres`;
  if (more > outbox + inFlight) {
    const tokens = moreTokens > 0 ? ` and ${moreTokens} more tokens` : '';
    return `Redis has ${more} more requests${tokens} than Postgres, but only ${outbox + inFlight} unsettled`;
  }
  if (month.charged < before.charged)
    return `Redis has ${before.charged - month.charged} fewer tokens than Postgres`;
  if (outbox === 0 && moreTokens > 0) return `Redis has ${moreTokens} more tokens than Postgres`;
  return null;
}

const ledgerFinding = (problems: readonly string[], month: string): Finding =>
  problems.length === 0
    ? fine('ledgers', `Redis and Postgres agree on ${month}`)
    : wrong(
        'ledgers',
        some(problems),
        `When the organization has nothing in progress and nothing in its outbox, delete its Redis key …:month:${month} as the Redis user \`default\`. The limiter then reads the month from Postgres. If Postgres was restored from a backup, leave it: Redis knows more, and the caps follow it.`,
      );

const outboxFinding = (old: readonly string[], waiting: number): Finding =>
  old.length === 0
    ? fine('outbox', `${waiting} settlements wait for metering, none for long`)
    : wrong(
        'outbox',
        some(old),
        'Metering is not writing, or cannot confirm. See its /readyz and its log. Nothing is lost in the meantime: Postgres gets the settlements when metering works again.',
      );

/** Whether a gateway holds a lease and gives no sign of life. */
export function leaseFinding(instances: Awaited<ReturnType<LiveStateReader['instances']>>): Finding {
  const dead = instances.filter(({ silentMs }) => silentMs > DEAD_MS);
  if (dead.length === 0) return fine('gateway leases', `gateways with a lease: ${instances.length}`);
  return wrong(
    'gateway leases',
    some(
      dead.map(
        ({ instanceId, silentMs }) => `${instanceId} has been silent for ${Math.floor(silentMs / 1_000)} s`,
      ),
    ),
    'A limiter should have ended what these gateways held after 15 s. If limiters or Redis have just started, look again in 15 s. Otherwise check that one runs and can reach Redis, and read its log.',
  );
}

function reservationFinding({
  reserved,
  inFlight,
  gateways,
}: Readonly<Record<'reserved' | 'inFlight' | 'gateways', number>>): Finding {
  const found = `${inFlight} requests in progress, ${reserved} tokens reserved`;
  if (gateways > 0 || (inFlight === 0 && reserved === 0)) return fine('reservations', found);
  return wrong(
    'reservations',
    `${found}, and no gateway has a lease`,
    'No gateway will settle these. If that is still so after a minute with a limiter running, restore Redis from its append-only file or report a bug.',
  );
}
