// Fills a database with the requests of three organizations, as metering would have written them.

export const ORG = 'org_consolebench';
const OTHERS = ['org_consoleben02', 'org_consoleben03'];
const HOURS_KEPT_DAYS = 8;
/** The share of the keys that are refused something in every hour. */
const REFUSED_KEYS = 0.3;

/**
 * The first organization has the keys, the models, and four fifths of the requests. A few keys are
 * busy, and each one calls three models. Every fiftieth request is an error.
 */
export async function seed(db, days, { owner, requests, keys, models }) {
  const run = (text, ...values) => db.$executeRawUnsafe(text, ...values);
  await run(
    `INSERT INTO org (id, slug, name, plan_id) SELECT id, 'bench-' || CASE WHEN n = 1 THEN 'console' ELSE n::text END, 'Bench ' || n, 'plan_pro'
     FROM unnest($1::text[]) WITH ORDINALITY AS o(id, n)`,
    [ORG, ...OTHERS],
  );
  await run(
    `INSERT INTO member (org_id, user_id, role) SELECT $1, id, 'owner' FROM "user" WHERE email = $2
    `,
    ...[ORG, owner],
  );
  await run(
    `INSERT INTO model (id, org_id, name, kind, mode, context_tokens, driver, settings, condition)
     SELECT 'mdl_bench' || i, $1, 'model-' || i, 'text', 'always_on', 8192, 'external', '{"urls":["http://127.0.0.1:9/v1"]}', 'stopped'
     FROM generate_series(0, $2::int - 1) i`,
    ...[ORG, models],
  );
  await run(
    `INSERT INTO api_key (id, org_id, name, prefix, hash, all_models, requests_per_minute, requests_at_once, last_used_at)
     SELECT 'key_bench' || i, $1, 'Key ' || i, 'ti_' || i, sha256(('bench' || i)::bytea), true, 60, 4, now()
     FROM generate_series(0, $2::int - 1) i`,
    ...[ORG, keys],
  );
  for (const day of days) await run(REQUESTS, day, Math.ceil(requests / days.length), keys, models);
  await run(DAYS);
  for (const org of [ORG, ...OTHERS])
    for (const day of days.slice(0, HOURS_KEPT_DAYS))
      await db.$queryRawUnsafe('SELECT recount_usage_hours($1, $2::date)::text', org, day);
  await run(TIMES);
  await run(REFUSALS, Math.ceil(keys * REFUSED_KEYS));
  await run('VACUUM ANALYZE');
}

const REQUESTS = `
  INSERT INTO request (
    reservation_id, day, org_id, key_id, model_id, admitted_at, answered, error_code, streamed,
    prompt_tokens, completion_tokens, reserved_tokens, charged_tokens, duration_ms, first_chunk_ms)
  SELECT left(md5(i || $1), 24), $1::date,
    CASE WHEN i % 5 > 0 THEN '${ORG}' WHEN i % 2 = 0 THEN '${OTHERS[0]}' ELSE '${OTHERS[1]}' END,
    'key_bench' || k, 'mdl_bench' || (k * 7 + (i / 1000) % 3 * 31) % $4::int, at,
    error IS NULL, error, i % 2 = 0, CASE WHEN error IS NULL THEN 900 END, CASE WHEN error IS NULL THEN 120 END,
    8192, CASE WHEN error IS NULL THEN 1020 ELSE 8192 END, round(exp(6 + 4.5 * random() * random())),
    CASE WHEN i % 2 = 0 THEN round(exp(4.5 + 2 * random())) END
  FROM (
    SELECT i, floor($3::int * power((i::bigint * 7919 % 9973) / 9973.0, 2))::int AS k,
      ($1 || 'T00:00Z')::timestamptz + i * 86400.0 / $2::int * interval '1 s' AS at,
      CASE WHEN i % 50 = 1 THEN (ARRAY['upstream_error', 'client_closed', 'model_refused'])[1 + i / 50 % 3] END AS error
    FROM generate_series(0, $2::int - 1) i
  ) made WHERE at <= now()`;

const DAYS = `
  INSERT INTO usage_day
  SELECT org_id, day, key_id, model_id, count(*), count(*) FILTER (WHERE NOT answered),
    sum(coalesce(prompt_tokens, 0)), sum(coalesce(completion_tokens, 0)),
    sum(CASE WHEN prompt_tokens IS NULL THEN charged_tokens ELSE 0 END), sum(duration_ms), count(duration_ms)
  FROM request WHERE org_id = ANY ('{${[ORG, ...OTHERS].join(',')}}') GROUP BY 1, 2, 3, 4`;

/** The rows of the last days are there already. */
const TIMES = `
  INSERT INTO usage_time
  SELECT org_id, 'day', day::timestamp AT TIME ZONE 'UTC', model_id, sum(histogram_of(duration_ms)), sum(histogram_of(first_chunk_ms))
  FROM request WHERE org_id = ANY ('{${[ORG, ...OTHERS].join(',')}}') GROUP BY 1, 3, 4 ON CONFLICT DO NOTHING`;

/** With 1,000 keys, 216,000 rows in 30 days. */
const REFUSALS = `
  INSERT INTO refusal_hour (org_id, hour, key_id, model_id, code, cause, refusals)
  SELECT '${ORG}', hour, 'key_bench' || k, CASE WHEN k % 4 = 1 THEN '' ELSE 'mdl_bench' || k % 7 END,
    CASE WHEN k % 4 = 1 THEN 'invalid_request' ELSE 'rate_limit_exceeded' END,
    CASE WHEN k % 4 = 1 THEN '' ELSE (ARRAY['key_requests_per_minute', 'key_requests_at_once'])[1 + k % 2] END, 1 + k
  FROM generate_series(date_trunc('hour', now()) - interval '30 days', now(), '1 hour') hour, generate_series(0, $1::int - 1) k`;
