-- What operators do outside of any organization leaves an event, too: one of no organization. So it
-- outlives organizations that are deleted.
ALTER TABLE "audit_event" ALTER COLUMN "org_id" DROP NOT NULL;

-- The console acts within organizations only. Whoever broke into it cannot speak for operators.
CREATE FUNCTION "keep_trail_of_operators"() RETURNS TRIGGER
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Who makes organizations is an operator.
    IF NOT has_table_privilege(quote_ident(TG_TABLE_SCHEMA) || '.org', 'INSERT') THEN
        RAISE EXCEPTION 'permission denied: only an operator has events of no organization'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION "keep_trail_of_operators"() FROM PUBLIC;

CREATE TRIGGER "audit_event_of_operators" BEFORE INSERT ON "audit_event"
    FOR EACH ROW WHEN (NEW."org_id" IS NULL) EXECUTE FUNCTION "keep_trail_of_operators"();
