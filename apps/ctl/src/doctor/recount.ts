import { Prisma } from '@tidegate/db';

export const RECOUNT =
  "Metering counts the hours and times of a day again from its requests when it starts and every 10 minutes, if the day's requests differ. If the difference stays, have the database's owner run SELECT recount_usage_hours('ORG', 'DAY').";

/** As long as a request and the wait for metering's next count may take, and some to spare. */
const RECENT_MINUTES = 30;

export const SETTLES = `requests of the last ${RECENT_MINUTES} minutes, written by metering of the previous release. Metering of this release counts them within 10 minutes`;

/**
 * An SQL condition: whether metering is about to count the hours of `differing.org_id` on
 * `differing.day` again. It does if they lack requests. Only recent requests may be missing in any
 * hour: what has been missing for longer should have been counted by now.
 */
export const settles = (): Prisma.Sql => Prisma.sql`
  (SELECT coalesce(sum(rows.requests) > coalesce(sum(counted.requests), 0)
      AND bool_and(coalesce(rows.requests, 0) - coalesce(counted.requests, 0) BETWEEN 0 AND coalesce(rows.recent, 0)), false)
    FROM (
      SELECT date_trunc('hour', admitted_at, 'UTC') AS hour, count(*) AS requests,
        count(*) FILTER (WHERE admitted_at > now() - make_interval(mins => ${RECENT_MINUTES}::int)) AS recent
      FROM request WHERE request.org_id = differing.org_id AND request.day = differing.day GROUP BY 1
    ) rows FULL JOIN (
      SELECT hour, sum(requests) AS requests FROM usage_hour
      WHERE usage_hour.org_id = differing.org_id AND hour >= differing.day::timestamp AT TIME ZONE 'UTC'
        AND hour < (differing.day + 1)::timestamp AT TIME ZONE 'UTC' GROUP BY 1
    ) counted USING (hour))`;
