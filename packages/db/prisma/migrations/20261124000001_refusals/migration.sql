-- How often requests of valid keys were refused, and why. It is a record of its own: no usage, quota
-- or limit is read from it. Limiters write what gateways report.
CREATE TABLE "refusal_hour" (
    "org_id" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "key_id" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "cause" TEXT NOT NULL,
    "refusals" BIGINT NOT NULL,

    CONSTRAINT "refusal_hour_pkey" PRIMARY KEY ("org_id", "hour", "key_id", "model_id", "code", "cause"),
    CONSTRAINT "refusal_hour_refusals_check" CHECK ("refusals" >= 1),
    CONSTRAINT "refusal_hour_hour_check" CHECK ("hour" = date_trunc('hour', "hour", 'UTC')),
    -- Those of a deleted key go with it, and so do those of a deleted organization.
    CONSTRAINT "refusal_hour_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "refusal_hour_key_id_hour_idx" ON "refusal_hour"("key_id", "hour");
CREATE INDEX "refusal_hour_hour_idx" ON "refusal_hour"("hour");

-- The last report of each gateway that was written. A report that is sent again counts once.
CREATE TABLE "refusal_report" (
    "gateway_id" TEXT NOT NULL,
    "sequence" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refusal_report_pkey" PRIMARY KEY ("gateway_id"),
    CONSTRAINT "refusal_report_sequence_check" CHECK ("sequence" >= 1)
);
CREATE INDEX "refusal_report_at_idx" ON "refusal_report"("at");

-- Deletes refusals of hours that began more than this many days ago, at most 10,000 rows, and
-- gateways that have reported nothing for as long. Returns how many rows of refusals it deleted.
CREATE FUNCTION "prune_refusals"("keep_days" INTEGER) RETURNS INTEGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    oldest TIMESTAMPTZ := CURRENT_TIMESTAMP - make_interval(days => keep_days);
    pruned INTEGER;
BEGIN
    IF keep_days < 31 THEN
        RAISE EXCEPTION 'refusals are kept for at least 31 days';
    END IF;
    DELETE FROM refusal_report WHERE at < oldest;
    DELETE FROM refusal_hour WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM refusal_hour WHERE hour < oldest ORDER BY hour LIMIT 10000));
    GET DIAGNOSTICS pruned = ROW_COUNT;
    RETURN pruned;
END $$;
REVOKE EXECUTE ON FUNCTION "prune_refusals"(INTEGER) FROM PUBLIC;

GRANT SELECT, INSERT, UPDATE ("refusals") ON "refusal_hour" TO tidegate_limiter;
GRANT SELECT, INSERT, UPDATE ("sequence", "at") ON "refusal_report" TO tidegate_limiter;
GRANT EXECUTE ON FUNCTION "prune_refusals"(INTEGER) TO tidegate_metering;
GRANT SELECT ON "refusal_hour" TO tidegate_console, tidegate_ctl;
