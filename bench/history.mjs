// Writes past requests for benches: rows and rollups, as metering would have written them.
import { dayOf } from '@tidegate/limits';

const DAY_MS = 86_400_000;

/** Today and the days before, newest first. */
export const lastDays = (count) => Array.from({ length: count }, (_, i) => dayOf(Date.now() - i * DAY_MS));

/**
 * Inserts `count` requests of one day, over `keys` and `models` in turn. Every fiftieth is an
 * error.
 */
export async function seedDay(db, day, { orgId, count, keys, models }) {
  await db.$executeRawUnsafe(
    `INSERT INTO request (reservation_id, day, org_id, key_id, model_id, admitted_at, answered, error_code, streamed,
       prompt_tokens, completion_tokens, reserved_tokens, charged_tokens, duration_ms)
     SELECT lpad(i::text, 24, '0'), $1::date, $2, 'key_' || i % ${keys}, 'mdl_' || (i / ${keys}) % ${models}, $1::timestamptz,
       i % 50 <> 0, CASE WHEN i % 50 = 0 THEN 'upstream_error' END, i % 2 = 0,
       CASE WHEN i % 50 <> 0 THEN 900 END, CASE WHEN i % 50 <> 0 THEN 120 END, 8192,
       CASE WHEN i % 50 = 0 THEN 8192 ELSE 1020 END, 1500
     FROM generate_series(1, $3::int) i`,
    day,
    orgId,
    count,
  );
}

/**
 * Inserts the daily rollups of the seeded rows. Then does what Postgres would otherwise do some
 * time later in the background, where a bench would take it for the cost of its requests.
 */
export async function seedRollups(db) {
  await db.$executeRawUnsafe(`INSERT INTO usage_day
    SELECT org_id, day, key_id, model_id, count(*), count(*) FILTER (WHERE NOT answered), sum(coalesce(prompt_tokens, 0)),
      sum(coalesce(completion_tokens, 0)), sum(CASE WHEN prompt_tokens IS NULL THEN charged_tokens ELSE 0 END),
      sum(duration_ms), count(duration_ms) FROM request WHERE key_id ~ '^key_[0-9]{1,3}$'
    GROUP BY 1, 2, 3, 4`);
  await db.$executeRawUnsafe('VACUUM ANALYZE');
  await db.$executeRawUnsafe('CHECKPOINT');
}
