-- Recounting hours holds up no settlements. Before, it locked out all of them while it counted a
-- whole day, and where that took longer than a statement may, it began again and again.

-- Corrects the hours of an organization from `begins` to `ends`, which are in one day, and the
-- histogram of the day. One statement sees one moment, so it finds by how much each sum is wrong. A
-- settlement that is written at the same time adds to its request and to its sums alike, so the
-- sums stay wrong by just as much. Adding that makes them right, however long the counting took.
-- The caller makes sure that nobody else corrects hours meanwhile.
CREATE FUNCTION "correct_usage_hours"("target" TEXT, "begins" TIMESTAMPTZ, "ends" TIMESTAMPTZ) RETURNS VOID
LANGUAGE plpgsql AS $$
DECLARE
    of_day CONSTANT DATE := begins::date;
    hours usage_hour[];
    times usage_time[];
BEGIN
    WITH counted AS MATERIALIZED (
        SELECT date_trunc('hour', admitted_at) AS hour, key_id, model_id,
            count(*) AS requests, count(*) FILTER (WHERE NOT answered) AS errors,
            coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
            coalesce(sum(charged_tokens) FILTER (WHERE prompt_tokens IS NULL), 0) AS unreported_tokens,
            coalesce(sum(duration_ms), 0) AS duration_ms_sum, count(duration_ms) AS duration_count,
            sum(histogram_of(duration_ms)) AS durations, sum(histogram_of(first_chunk_ms)) AS first_chunks
        FROM request WHERE day = of_day AND org_id = target AND admitted_at >= begins AND admitted_at < ends
        GROUP BY 1, 2, 3
    ), stored AS (
        SELECT * FROM usage_hour WHERE org_id = target AND hour >= begins AND hour < ends
    ), timed AS (
        SELECT 'hour' AS step, hour AS at, model_id, sum(durations) AS durations, sum(first_chunks) AS first_chunks
        FROM counted GROUP BY 2, 3
        UNION ALL
        SELECT 'day', of_day, model_id, sum(durations), sum(first_chunks) FROM (
            SELECT model_id, durations, first_chunks FROM counted
            UNION ALL
            SELECT model_id, durations, first_chunks FROM usage_time
            WHERE org_id = target AND step = 'hour' AND at >= of_day AND at < of_day + 1
                AND NOT (at >= begins AND at < ends)
        ) of_hours GROUP BY model_id
    ), stored_times AS (
        SELECT * FROM usage_time WHERE org_id = target
            AND (step = 'hour' AND at >= begins AND at < ends OR step = 'day' AND at = of_day)
    )
    SELECT ARRAY(
        SELECT ROW(target, hour, key_id, model_id,
            coalesce(counted.requests, 0) - coalesce(stored.requests, 0),
            coalesce(counted.errors, 0) - coalesce(stored.errors, 0),
            coalesce(counted.prompt_tokens, 0) - coalesce(stored.prompt_tokens, 0),
            coalesce(counted.completion_tokens, 0) - coalesce(stored.completion_tokens, 0),
            coalesce(counted.unreported_tokens, 0) - coalesce(stored.unreported_tokens, 0),
            coalesce(counted.duration_ms_sum, 0) - coalesce(stored.duration_ms_sum, 0),
            coalesce(counted.duration_count, 0) - coalesce(stored.duration_count, 0))::usage_hour
        FROM counted FULL JOIN stored USING (hour, key_id, model_id)
        WHERE (counted.requests, counted.errors, counted.prompt_tokens, counted.completion_tokens,
                counted.unreported_tokens, counted.duration_ms_sum, counted.duration_count)
            IS DISTINCT FROM (stored.requests, stored.errors, stored.prompt_tokens, stored.completion_tokens,
                stored.unreported_tokens, stored.duration_ms_sum, stored.duration_count)
    ), ARRAY(
        SELECT ROW(target, step, at, model_id,
            nullif(coalesce(timed.durations, 0) - coalesce(stored_times.durations, 0), 0),
            nullif(coalesce(timed.first_chunks, 0) - coalesce(stored_times.first_chunks, 0), 0))::usage_time
        FROM timed FULL JOIN stored_times USING (step, at, model_id)
        WHERE stored_times.org_id IS NULL OR (timed.durations, timed.first_chunks)
            IS DISTINCT FROM (stored_times.durations, stored_times.first_chunks)
    ) INTO hours, times;
    IF cardinality(hours) + cardinality(times) = 0 THEN
        RETURN;
    END IF;

    -- As settlements do: a deletion of the organization waits for this, or is seen here.
    LOCK TABLE month_total IN ROW EXCLUSIVE MODE;
    IF EXISTS (SELECT FROM deleted_org WHERE org_id = target) THEN
        RETURN;
    END IF;
    -- Locks the rows in the order in which settlements do. The check of the table refuses most
    -- differences as rows of their own, so they are added afterwards.
    INSERT INTO usage_hour AS total
    SELECT target, hour, key_id, model_id, 0, 0, 0, 0, 0, 0, 0 FROM unnest(hours) ORDER BY hour, key_id, model_id
    ON CONFLICT (org_id, hour, key_id, model_id) DO UPDATE SET requests = total.requests;
    UPDATE usage_hour total SET
        requests = total.requests + wrong.requests,
        errors = total.errors + wrong.errors,
        prompt_tokens = total.prompt_tokens + wrong.prompt_tokens,
        completion_tokens = total.completion_tokens + wrong.completion_tokens,
        unreported_tokens = total.unreported_tokens + wrong.unreported_tokens,
        duration_ms_sum = total.duration_ms_sum + wrong.duration_ms_sum,
        duration_count = total.duration_count + wrong.duration_count
    FROM unnest(hours) wrong
    WHERE total.org_id = target AND total.hour = wrong.hour
        AND total.key_id = wrong.key_id AND total.model_id = wrong.model_id;
    DELETE FROM usage_hour WHERE org_id = target AND hour >= begins AND hour < ends AND requests = 0;
    INSERT INTO usage_time AS total
    SELECT * FROM unnest(times) ORDER BY step, at, model_id
    ON CONFLICT (org_id, step, at, model_id) DO UPDATE SET
        durations = nullif(coalesce(total.durations, 0) + coalesce(excluded.durations, 0), 0),
        first_chunks = nullif(coalesce(total.first_chunks, 0) + coalesce(excluded.first_chunks, 0), 0);
END $$;

-- Counts an hour of an organization again, from its requests. False: someone else is counting.
CREATE FUNCTION "recount_usage_hour"("target" TEXT, "of_hour" TIMESTAMPTZ) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    begins CONSTANT TIMESTAMPTZ := date_trunc('hour', of_hour);
BEGIN
    -- An arbitrary number. Only one session at a time corrects hours.
    IF NOT pg_try_advisory_xact_lock(72707371) THEN
        RETURN false;
    END IF;
    PERFORM correct_usage_hours(target, begins, begins + interval '1 hour');
    -- After midnight, some hours of its day may be gone. The histogram of the day would lose them.
    IF begins < (clock_timestamp() AT TIME ZONE 'UTC')::date - 7 THEN
        RAISE EXCEPTION 'usage by the hour is kept for 7 days';
    END IF;
    RETURN true;
END $$;

-- As before, but beside settlements. Waits for others who count.
CREATE OR REPLACE FUNCTION "recount_usage_hours"("target" TEXT, "of_day" DATE) RETURNS VOID
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(72707371);
    PERFORM correct_usage_hours(target, of_day, of_day + 1);
END $$;

REVOKE EXECUTE ON FUNCTION "correct_usage_hours"(TEXT, TIMESTAMPTZ, TIMESTAMPTZ) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION "recount_usage_hour"(TEXT, TIMESTAMPTZ) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION "recount_usage_hour"(TEXT, TIMESTAMPTZ) TO tidegate_metering;
