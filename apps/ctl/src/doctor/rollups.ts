import type { Db } from '@tidegate/db';
import { KEPT_DAYS } from '@tidegate/limits';
import { type Difference, findingOf } from './differences.ts';
import { RECOUNT, SETTLES, settles } from './recount.ts';
import { type Finding, fine, wrong } from './report.ts';

/** No refusal is this old: those that are too old are deleted every 10 minutes. */
const REFUSALS_GONE_DAYS = KEPT_DAYS.refusals + 1;
/** Those of which all hours are kept, today included. */
const REFUSALS_COMPARED_DAYS = KEPT_DAYS.refusals - 1;

/** The hours against their days, for as long as hours are kept. One statement sees one moment. */
export async function compareHours(db: Db): Promise<Finding> {
  const differences = await db.$queryRaw<Difference[]>`
    WITH first AS (SELECT (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS.usageHours - 1}::int AS day),
    hours AS (
      SELECT org_id, (hour AT TIME ZONE 'UTC')::date AS day, sum(requests) AS requests, sum(errors) AS errors,
        sum(prompt_tokens + completion_tokens + unreported_tokens) AS tokens
      FROM usage_hour WHERE hour >= (SELECT day::timestamp AT TIME ZONE 'UTC' FROM first) GROUP BY 1, 2
    ), days AS (
      SELECT org_id, day, sum(requests) AS requests, sum(errors) AS errors,
        sum(prompt_tokens + completion_tokens + unreported_tokens) AS tokens
      FROM usage_day WHERE day >= (SELECT day FROM first) GROUP BY 1, 2
    ), differing AS (
      SELECT org_id, day,
        format('the day has %s requests, %s errors and %s tokens, its hours %s, %s and %s',
          coalesce(days.requests, 0), coalesce(days.errors, 0), coalesce(days.tokens, 0),
          coalesce(hours.requests, 0), coalesce(hours.errors, 0), coalesce(hours.tokens, 0)) AS what
      FROM days FULL JOIN hours USING (org_id, day)
      WHERE (days.requests, days.errors, days.tokens) IS DISTINCT FROM (hours.requests, hours.errors, hours.tokens)
        AND NOT EXISTS (SELECT FROM deleted_org WHERE deleted_org.org_id = coalesce(days.org_id, hours.org_id))
      ORDER BY 1, 2 LIMIT 100
    )
    SELECT org_id AS org, to_char(day, 'YYYY-MM-DD') AS period, what, ${settles()} AS settles
    FROM differing ORDER BY 1, 2`;
  return findingOf('hours', 'hours and their days', differences, RECOUNT, SETTLES);
}

/**
 * How many requests the histograms hold, against the days that counted them. A histogram has 12
 * decimal digits for each bucket (docs/adr/0015). 10^12 leaves the remainder 1 when divided by
 * 10^12 - 1, so the remainder of the whole number is the sum of its buckets.
 */
export async function compareTimes(db: Db): Promise<Finding> {
  const differences = await db.$queryRaw<Difference[]>`
    WITH first AS (SELECT (now() AT TIME ZONE 'UTC')::date - ${KEPT_DAYS.usageHours - 1}::int AS day),
    times AS (
      SELECT org_id, (at AT TIME ZONE 'UTC')::date AS day,
        coalesce(sum(mod(durations, 999999999999)) FILTER (WHERE step = 'hour'), 0) AS hours,
        coalesce(sum(mod(durations, 999999999999)) FILTER (WHERE step = 'day'), 0) AS days
      FROM usage_time WHERE at >= (SELECT day::timestamp AT TIME ZONE 'UTC' FROM first) GROUP BY 1, 2
    ), counted AS (
      SELECT org_id, day, sum(duration_count) AS requests
      FROM usage_day WHERE day >= (SELECT day FROM first) GROUP BY 1, 2
    ), differing AS (
      SELECT org_id, day,
        format('%s requests were timed, and the histograms of the day hold %s, those of its hours %s',
          coalesce(requests, 0), coalesce(days, 0), coalesce(hours, 0)) AS what
      FROM counted FULL JOIN times USING (org_id, day)
      WHERE (coalesce(days, 0), coalesce(hours, 0)) IS DISTINCT FROM (coalesce(requests, 0), coalesce(requests, 0))
        AND NOT EXISTS (SELECT FROM deleted_org WHERE deleted_org.org_id = coalesce(counted.org_id, times.org_id))
      ORDER BY 1, 2 LIMIT 100
    )
    SELECT org_id AS org, to_char(day, 'YYYY-MM-DD') AS period, what, ${settles()} AS settles
    FROM differing ORDER BY 1, 2`;
  return findingOf('times', 'histograms and the requests of their days', differences, RECOUNT, SETTLES);
}

/** Checks the dates of refusals, and compares their hours with their days. */
export async function examineRefusals(db: Db): Promise<Finding> {
  const [found] = await db.$queryRaw<{ ahead: number; old: number }[]>`
    SELECT count(*) FILTER (WHERE hour > now())::int AS ahead, count(*) FILTER (WHERE hour <= now())::int AS old
    FROM refusal_hour WHERE hour > now() OR hour < now() - make_interval(days => ${REFUSALS_GONE_DAYS}::int)`;
  const { ahead = 0, old = 0 } = found ?? {};
  if (ahead > 0)
    return wrong(
      'refusals',
      `${ahead} counts are dated in the future`,
      'The clock of Postgres was set back, or was ahead. Check that it is right. The counts go when they are 35 days old.',
    );
  if (old > 0)
    return wrong(
      'refusals',
      `${old} counts are older than 35 days`,
      'Metering deletes them every 10 minutes. Check that it runs, and read its log.',
    );
  const differences = await refusalsOfDays(db);
  return differences.length === 0
    ? fine('refusals', 'hours and their days agree, none is dated in the future, none is kept for too long')
    : findingOf('refusals', 'hours of refusals and their days', differences, RECOUNT_REFUSALS);
}

const RECOUNT_REFUSALS =
  "A trigger on refusal_hour counts days. If one table was restored without the other, have the database's owner delete the day's rows of refusal_day and insert its hours again.";

/** Days that are not the sum of their hours. The oldest hours are deleted before their day. */
const refusalsOfDays = (db: Db): Promise<Difference[]> => db.$queryRaw<Difference[]>`
  WITH first AS (SELECT (now() AT TIME ZONE 'UTC')::date - ${REFUSALS_COMPARED_DAYS - 1}::int AS day),
  hours AS (
    SELECT org_id, (hour AT TIME ZONE 'UTC')::date AS day, sum(refusals) AS refusals
    FROM refusal_hour WHERE hour >= (SELECT day::timestamp AT TIME ZONE 'UTC' FROM first) GROUP BY 1, 2
  ), days AS (
    SELECT org_id, day, sum(refusals) AS refusals
    FROM refusal_day WHERE day >= (SELECT day FROM first) GROUP BY 1, 2
  )
  SELECT org_id AS org, to_char(day, 'YYYY-MM-DD') AS period,
    format('the day has %s refusals, its hours %s', coalesce(days.refusals, 0), coalesce(hours.refusals, 0)) AS what
  FROM days FULL JOIN hours USING (org_id, day)
  WHERE days.refusals IS DISTINCT FROM hours.refusals
  ORDER BY 1, 2 LIMIT 100`;
