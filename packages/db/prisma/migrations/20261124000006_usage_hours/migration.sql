-- Usage by the hour, and histograms of how long requests took, so that percentiles can be told.

-- A histogram is one number (docs/adr/0015): each bucket has 12 decimal digits, so the sum of such numbers is the histogram of
-- all. This is the histogram of one request: a 1 in the digits of its bucket. Buckets are 2^(1/8) wide. Null for null.
CREATE FUNCTION "histogram_of"("ms" INTEGER) RETURNS NUMERIC
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('1e' || (12 * floor(8 * ln((CASE WHEN "ms" < 1 THEN 1 ELSE "ms" END)::float8) / ln(2::float8))::integer)::text)::numeric;

-- As usage_day, of the last days only.
CREATE TABLE "usage_hour" (
    "org_id" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "key_id" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,
    "requests" BIGINT NOT NULL,
    "errors" BIGINT NOT NULL,
    "prompt_tokens" BIGINT NOT NULL,
    "completion_tokens" BIGINT NOT NULL,
    "unreported_tokens" BIGINT NOT NULL,
    "duration_ms_sum" BIGINT NOT NULL,
    "duration_count" BIGINT NOT NULL,

    CONSTRAINT "usage_hour_pkey" PRIMARY KEY ("org_id", "hour", "key_id", "model_id"),
    CONSTRAINT "usage_hour_errors_check" CHECK ("errors" BETWEEN 0 AND "requests")
);
CREATE INDEX "usage_hour_hour_idx" ON "usage_hour"("hour");

-- The histograms of models, by day and by hour. Apart from the counts, which are read more often, and narrower.
CREATE TABLE "usage_time" (
    "org_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "model_id" TEXT NOT NULL,
    "durations" NUMERIC,
    "first_chunks" NUMERIC,

    CONSTRAINT "usage_time_pkey" PRIMARY KEY ("org_id", "step", "at", "model_id"),
    CONSTRAINT "usage_time_step_check" CHECK ("step" IN ('hour', 'day'))
);
CREATE INDEX "usage_time_step_at_idx" ON "usage_time"("step", "at");

-- Few of the pairs of keys and models are in use. Without this, Postgres sorts to add up by pair.
CREATE STATISTICS "usage_day_pairs" (ndistinct) ON "key_id", "model_id" FROM "usage_day";
CREATE STATISTICS "usage_hour_pairs" (ndistinct) ON "key_id", "model_id" FROM "usage_hour";

GRANT SELECT, INSERT, UPDATE ON "usage_hour", "usage_time" TO tidegate_metering;
GRANT SELECT ON "usage_hour", "usage_time" TO tidegate_console, tidegate_ctl;

-- Counts the hours of an organization's day again, from its requests. Needed where metering of the release before wrote: it
-- writes days without hours.
CREATE FUNCTION "recount_usage_hours"("target" TEXT, "of_day" DATE) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    -- Waits for settlements that are being written, and holds up others.
    LOCK TABLE month_total IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM usage_hour WHERE org_id = target AND hour >= of_day AND hour < of_day + 1;
    INSERT INTO usage_hour
    SELECT org_id, date_trunc('hour', admitted_at), key_id, model_id, count(*), count(*) FILTER (WHERE NOT answered),
        coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0),
        coalesce(sum(charged_tokens) FILTER (WHERE prompt_tokens IS NULL), 0),
        coalesce(sum(duration_ms), 0), count(duration_ms)
    FROM request WHERE day = of_day AND org_id = target
    GROUP BY 1, 2, 3, 4;
    DELETE FROM usage_time WHERE org_id = target AND at >= of_day AND at < of_day + 1;
    INSERT INTO usage_time
    SELECT org_id, 'hour', date_trunc('hour', admitted_at), model_id, sum(histogram_of(duration_ms)), sum(histogram_of(first_chunk_ms))
    FROM request WHERE day = of_day AND org_id = target
    GROUP BY 1, 3, 4;
    INSERT INTO usage_time
    SELECT org_id, 'day', of_day, model_id, sum(durations), sum(first_chunks) FROM usage_time
    WHERE org_id = target AND step = 'hour' AND at >= of_day AND at < of_day + 1
    GROUP BY 1, 4;
END $$;

-- Deletes hours of days before this one, at most 10,000 rows of each table. Returns how many.
CREATE FUNCTION "prune_usage_hours"("first_day" DATE) RETURNS INTEGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    pruned INTEGER;
BEGIN
    IF first_day > CURRENT_DATE - 7 THEN
        RAISE EXCEPTION 'usage by the hour is kept for at least 7 days';
    END IF;
    WITH hours AS (
        DELETE FROM usage_hour WHERE ctid = ANY (ARRAY(SELECT ctid FROM usage_hour WHERE hour < first_day LIMIT 10000)) RETURNING 1
    ), times AS (
        DELETE FROM usage_time WHERE ctid = ANY (ARRAY(SELECT ctid FROM usage_time WHERE step = 'hour' AND at < first_day LIMIT 10000))
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM hours) + (SELECT count(*) FROM times) INTO pruned;
    RETURN pruned;
END $$;

-- As before, and the hours too.
CREATE OR REPLACE FUNCTION "purge_organization"("target" TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    oldest DATE;
BEGIN
    IF EXISTS (SELECT FROM org WHERE id = target) THEN
        RAISE EXCEPTION 'the organization % exists', target;
    END IF;
    -- Every request row is part of a row of usage_day. So is every hour.
    SELECT min(day) INTO oldest FROM usage_day WHERE org_id = target;
    IF oldest IS NULL THEN
        UPDATE deleted_org SET purged_at = CURRENT_TIMESTAMP WHERE org_id = target AND purged_at IS NULL;
        RETURN false;
    END IF;
    DELETE FROM request WHERE day = oldest AND org_id = target;
    DELETE FROM usage_hour WHERE org_id = target
        AND hour >= oldest::timestamp AT TIME ZONE 'UTC' AND hour < (oldest + 1)::timestamp AT TIME ZONE 'UTC';
    DELETE FROM usage_time WHERE org_id = target
        AND at >= oldest::timestamp AT TIME ZONE 'UTC' AND at < (oldest + 1)::timestamp AT TIME ZONE 'UTC';
    DELETE FROM usage_day WHERE day = oldest AND org_id = target;
    RETURN true;
END $$;

REVOKE EXECUTE ON FUNCTION "recount_usage_hours"(TEXT, DATE), "prune_usage_hours"(DATE) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION "recount_usage_hours"(TEXT, DATE), "prune_usage_hours"(DATE) TO tidegate_metering;
