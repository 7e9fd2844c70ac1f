-- Refusals by the day, so that a month of them is read without its hours. A trigger writes them, so
-- that they count what limiters of the release before write, too.
CREATE TABLE "refusal_day" (
    "org_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "key_id" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "cause" TEXT NOT NULL,
    "refusals" BIGINT NOT NULL,
    "first_hour" TIMESTAMPTZ(3) NOT NULL,
    "last_hour" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refusal_day_pkey" PRIMARY KEY ("org_id", "day", "key_id", "model_id", "code", "cause"),
    CONSTRAINT "refusal_day_refusals_check" CHECK ("refusals" >= 1),
    CONSTRAINT "refusal_day_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "refusal_day_key_id_day_idx" ON "refusal_day"("key_id", "day");
CREATE INDEX "refusal_day_day_idx" ON "refusal_day"("day");

CREATE FUNCTION "count_refusals_of_day"() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    INSERT INTO refusal_day AS total (org_id, day, key_id, model_id, code, cause, refusals, first_hour, last_hour)
    VALUES (NEW.org_id, NEW.hour::date, NEW.key_id, NEW.model_id, NEW.code, NEW.cause,
        NEW.refusals - coalesce(OLD.refusals, 0), NEW.hour, NEW.hour)
    ON CONFLICT (org_id, day, key_id, model_id, code, cause) DO UPDATE SET
        refusals = total.refusals + excluded.refusals,
        first_hour = least(total.first_hour, excluded.first_hour),
        last_hour = greatest(total.last_hour, excluded.last_hour);
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION "count_refusals_of_day"() FROM PUBLIC;

-- From here to the end of this transaction, limiters wait. So each refusal is counted either below
-- or by the trigger.
CREATE TRIGGER "refusal_hour_counts_day" AFTER INSERT OR UPDATE OF "refusals" ON "refusal_hour"
    FOR EACH ROW EXECUTE FUNCTION "count_refusals_of_day"();
INSERT INTO refusal_day
SELECT org_id, (hour AT TIME ZONE 'UTC')::date, key_id, model_id, code, cause, sum(refusals), min(hour), max(hour)
FROM refusal_hour GROUP BY 1, 2, 3, 4, 5, 6;

-- As before, and days that have no hours left.
CREATE OR REPLACE FUNCTION "prune_refusals"("keep_days" INTEGER) RETURNS INTEGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    oldest TIMESTAMPTZ := CURRENT_TIMESTAMP - make_interval(days => keep_days);
    pruned INTEGER;
BEGIN
    IF keep_days < 31 THEN
        RAISE EXCEPTION 'refusals are kept for at least 31 days';
    END IF;
    DELETE FROM refusal_report WHERE at < oldest;
    DELETE FROM refusal_day WHERE day < (oldest AT TIME ZONE 'UTC')::date;
    DELETE FROM refusal_hour WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM refusal_hour WHERE hour < oldest ORDER BY hour LIMIT 10000));
    GET DIAGNOSTICS pruned = ROW_COUNT;
    RETURN pruned;
END $$;

GRANT SELECT ON "refusal_day" TO tidegate_console, tidegate_ctl;
