-- Keys that a page of the console makes for itself. They end with the page, and at this instant at the latest.
ALTER TABLE "api_key" ADD COLUMN "expires_at" TIMESTAMPTZ(3), ADD COLUMN "page_user_id" TEXT;
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_page_user_id_fkey"
    FOREIGN KEY ("page_user_id") REFERENCES "user"("id") ON DELETE SET NULL ON UPDATE CASCADE;
CREATE INDEX "api_key_expires_at_idx" ON "api_key"("expires_at");
CREATE INDEX "api_key_page_user_id_idx" ON "api_key"("page_user_id");

-- Deletes such keys that their page could not delete, at most 1,000. Returns how many. A limiter whose clock is a little behind
-- has refused them by then, too.
CREATE FUNCTION "delete_ended_keys"() RETURNS INTEGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    ended INTEGER;
BEGIN
    WITH gone AS (
        DELETE FROM api_key WHERE id = ANY (ARRAY(
            SELECT id FROM api_key WHERE expires_at < CURRENT_TIMESTAMP - interval '1 minute' LIMIT 1000
        )) RETURNING 1
    )
    SELECT count(*) INTO ended FROM gone;
    RETURN ended;
END $$;
REVOKE EXECUTE ON FUNCTION "delete_ended_keys"() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION "delete_ended_keys"() TO tidegate_metering;
