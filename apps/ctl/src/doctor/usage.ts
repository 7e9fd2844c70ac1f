import type { Db } from '@tidegate/db';
import { type Difference, findingOf } from './differences.ts';
import type { Finding } from './report.ts';

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

/** The days from `sinceDay` on against their request rows. Reads all rows of these days. */
export async function compareDays(db: Db, sinceDay: string): Promise<Finding> {
  const differences = await db.$queryRaw<Difference[]>`
    WITH rows AS (
      SELECT org_id, day, count(*) AS requests, count(*) FILTER (WHERE NOT answered) AS errors,
        sum(charged_tokens) AS tokens
      FROM request WHERE day >= ${sinceDay}::date GROUP BY 1, 2
    ), days AS (
      SELECT org_id, day, sum(requests) AS requests, sum(errors) AS errors,
        sum(prompt_tokens + completion_tokens + unreported_tokens) AS tokens
      FROM usage_day WHERE day >= ${sinceDay}::date GROUP BY 1, 2
    )
    SELECT org_id AS org, to_char(day, 'YYYY-MM-DD') AS period,
      format('the day has %s requests, %s errors and %s tokens, its rows %s, %s and %s',
        coalesce(days.requests, 0), coalesce(days.errors, 0), coalesce(days.tokens, 0),
        coalesce(rows.requests, 0), coalesce(rows.errors, 0), coalesce(rows.tokens, 0)) AS what
    FROM days FULL JOIN rows USING (org_id, day)
    WHERE (days.requests, days.errors, days.tokens) IS DISTINCT FROM (rows.requests, rows.errors, rows.tokens)
      AND NOT EXISTS (SELECT FROM deleted_org WHERE deleted_org.org_id = coalesce(days.org_id, rows.org_id))
    ORDER BY 1, 2 LIMIT 100`;
  return findingOf('day totals', `days since ${sinceDay} and their requests`, differences, RECOUNT);
}
