import { type Db, listRequestPartitions } from '@tidegate/db';
import { type Difference, findingOf } from './differences.ts';
import { type Finding, warn } from './report.ts';

/** Pages of requests in one statement: 400 MB, which take some seconds. */
const PAGES_AT_ONCE = 50_000;
/** How long the comparison of days may take. */
const MAX_MS = 5 * 60_000;
/** The longest that one statement may still take then. */
const LAST_STATEMENT_MS = 60_000;

const RECOUNT =
  'Each settlement adds to both in one statement, so something else has changed a table. Compare with a backup, and correct the sums by hand. The request rows show what happened.';

/**
 * The totals of this month and the last against the sums of their days. One statement sees one
 * moment, so settlements that are being written make no difference.
 */
export async function compareMonths(db: Db, sinceMonth: string): Promise<Finding> {
  const differences = await db.$queryRaw<Difference[]>`
    WITH days AS (
      SELECT org_id, to_char(day, 'YYYY-MM') AS month, sum(requests) AS requests,
        sum(prompt_tokens + completion_tokens + unreported_tokens) AS tokens
      FROM usage_day WHERE day >= (${sinceMonth} || '-01')::date GROUP BY 1, 2
    ), months AS (
      SELECT org_id, month, requests, charged_tokens AS tokens FROM month_total WHERE month >= ${sinceMonth}
    )
    SELECT org_id AS org, month AS period,
      format('the month has %s requests and %s tokens, its days %s and %s',
        coalesce(months.requests, 0), coalesce(months.tokens, 0),
        coalesce(days.requests, 0), coalesce(days.tokens, 0)) AS what
    FROM months FULL JOIN days USING (org_id, month)
    WHERE (months.requests, months.tokens) IS DISTINCT FROM (days.requests, days.tokens)
      AND NOT EXISTS (SELECT FROM deleted_org WHERE deleted_org.org_id = coalesce(months.org_id, days.org_id))
    ORDER BY 1, 2 LIMIT 100`;
  return findingOf('month totals', 'months and the sums of their days', differences, RECOUNT);
}

/** Adjustable for tests. */
interface Pace {
  readonly pagesAtOnce?: number;
  readonly maxMs?: number;
}

interface Sums {
  readonly requests: bigint;
  readonly errors: bigint;
  readonly tokens: bigint;
}

type OrgSums = Sums & { readonly org: string };

const NONE: Sums = { requests: 0n, errors: 0n, tokens: 0n };

/**
 * The days from `sinceDay` on against their request rows, the newest first. Reads all rows of these
 * days. A day that cannot be read in time, and those before it, are left out with a warning.
 */
export async function compareDays(
  db: Db,
  sinceDay: string,
  { pagesAtOnce = PAGES_AT_ONCE, maxMs = MAX_MS }: Pace = {},
): Promise<Finding> {
  const untilMs = performance.now() + maxMs;
  const counted = await db.$queryRaw<{ day: string }[]>`
    SELECT DISTINCT to_char(day, 'YYYY-MM-DD') AS day FROM usage_day WHERE day >= ${sinceDay}::date`;
  const stored = (await listRequestPartitions(db)).filter((day) => day >= sinceDay);
  const days = [...new Set([...counted.map(({ day }) => day), ...stored])].sort().reverse();
  const differences: Difference[] = [];
  let late: string | undefined;
  for (const day of days) {
    const found = await compareDay(db, day, { pagesAtOnce, untilMs, timeoutMs: maxMs + LAST_STATEMENT_MS });
    if (found === null) {
      late = day;
      break;
    }
    differences.push(...found);
  }
  if (late === undefined || differences.length > 0)
    return findingOf('day totals', `days since ${sinceDay} and their requests`, differences, RECOUNT);
  return warn(
    'day totals',
    `the requests of ${late} could not be counted in ${maxMs / 60_000} minutes; what was counted agrees`,
    'This does not mean that anything is wrong. Run it again while Postgres is less busy, or with fewer --days.',
  );
}

/**
 * Compares all organizations on one day. All statements of the transaction see one moment, so
 * settlements that are being written make no difference. Null: it took too long.
 */
const compareDay = (
  db: Db,
  day: string,
  limits: { readonly pagesAtOnce: number; readonly untilMs: number; readonly timeoutMs: number },
): Promise<Difference[] | null> =>
  db.$transaction(
    async (tx) => {
      const days = await tx.$queryRaw<OrgSums[]>`
        SELECT org_id AS org, sum(requests)::bigint AS requests, sum(errors)::bigint AS errors,
          sum(prompt_tokens + completion_tokens + unreported_tokens)::bigint AS tokens
        FROM usage_day WHERE day = ${day}::date
          AND NOT EXISTS (SELECT FROM deleted_org WHERE deleted_org.org_id = usage_day.org_id)
        GROUP BY 1`;
      const [{ pages } = { pages: 0 }] = await tx.$queryRaw<{ pages: number }[]>`
        SELECT (coalesce(pg_relation_size(to_regclass('request_' || ${day.replaceAll('-', '')}::text)), 0)
          / current_setting('block_size')::int)::int AS pages`;
      const rows = new Map<string, Sums>();
      for (let page = 0; page < pages; page += limits.pagesAtOnce) {
        if (performance.now() > limits.untilMs) return null;
        const piece = await tx.$queryRaw<OrgSums[]>`
          SELECT org_id AS org, count(*) AS requests, count(*) FILTER (WHERE NOT answered) AS errors,
            sum(charged_tokens) AS tokens
          FROM request WHERE day = ${day}::date
            AND ctid >= ${`(${page},0)`}::tid AND ctid < ${`(${page + limits.pagesAtOnce},0)`}::tid
            AND NOT EXISTS (SELECT FROM deleted_org WHERE deleted_org.org_id = request.org_id)
          GROUP BY 1`;
        for (const { org, ...sums } of piece) rows.set(org, plus(rows.get(org) ?? NONE, sums));
      }
      return differencesOf(day, new Map(days.map(({ org, ...sums }) => [org, sums])), rows);
    },
    { isolationLevel: 'RepeatableRead', timeout: limits.timeoutMs },
  );

const plus = (a: Sums, b: Sums): Sums => ({
  requests: a.requests + b.requests,
  errors: a.errors + b.errors,
  tokens: a.tokens + b.tokens,
});

function differencesOf(
  period: string,
  days: ReadonlyMap<string, Sums>,
  rows: ReadonlyMap<string, Sums>,
): Difference[] {
  const orgs = [...new Set([...days.keys(), ...rows.keys()])].sort();
  return orgs.flatMap((org) => {
    const [day, row] = [days.get(org) ?? NONE, rows.get(org) ?? NONE];
    if (day.requests === row.requests && day.errors === row.errors && day.tokens === row.tokens) return [];
    const what = `the day has ${day.requests} requests, ${day.errors} errors and ${day.tokens} tokens, its rows ${row.requests}, ${row.errors} and ${row.tokens}`;
    return [{ org, period, what }];
  });
}
