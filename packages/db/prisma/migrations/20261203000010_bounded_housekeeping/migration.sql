-- Deleting in small steps, and in an order in which nobody waits for each other.

-- Deletes a part of the oldest day of a deleted organization's usage: at most 10,000 requests, so
-- that it stays far from the time-out of a statement. Returns whether there may be more.
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
    DELETE FROM request WHERE day = oldest AND reservation_id = ANY (ARRAY(
        SELECT reservation_id FROM request WHERE day = oldest AND org_id = target LIMIT 10000));
    -- How many were deleted does not tell whether any are left: someone else may purge, too.
    IF EXISTS (SELECT FROM request WHERE day = oldest AND org_id = target) THEN
        RETURN true;
    END IF;
    DELETE FROM usage_hour WHERE org_id = target
        AND hour >= oldest::timestamp AT TIME ZONE 'UTC' AND hour < (oldest + 1)::timestamp AT TIME ZONE 'UTC';
    DELETE FROM usage_time WHERE org_id = target
        AND at >= oldest::timestamp AT TIME ZONE 'UTC' AND at < (oldest + 1)::timestamp AT TIME ZONE 'UTC';
    DELETE FROM usage_day WHERE day = oldest AND org_id = target;
    RETURN true;
END $$;

-- As before, but it leaves keys that someone else has locked to the next call. Otherwise it could
-- wait for a deletion of their organization, which waits for it.
CREATE OR REPLACE FUNCTION "delete_ended_keys"() RETURNS INTEGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    ended INTEGER;
BEGIN
    WITH gone AS (
        DELETE FROM api_key WHERE id = ANY (ARRAY(
            SELECT id FROM api_key WHERE expires_at < CURRENT_TIMESTAMP - interval '1 minute'
            LIMIT 1000 FOR UPDATE SKIP LOCKED
        )) RETURNING 1
    )
    SELECT count(*) INTO ended FROM gone;
    RETURN ended;
END $$;

-- As before, but it locks the keys in the order of their ids, as those do who write their last use.
CREATE OR REPLACE FUNCTION "delete_organization"("target" TEXT, "by_whom" TEXT) RETURNS SETOF TEXT
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    -- Waits for settlements that are being written. Those that come later see that the organization is deleted.
    LOCK TABLE month_total IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO deleted_org (org_id, deleted_by) VALUES (target, by_whom);
    DELETE FROM month_total WHERE org_id = target;
    PERFORM FROM api_key WHERE org_id = target ORDER BY id FOR UPDATE;
    -- A key refers to models that cannot be deleted before it.
    DELETE FROM api_key WHERE org_id = target;
    RETURN QUERY WITH gone AS (DELETE FROM model WHERE org_id = target RETURNING id, deleted_at)
        SELECT id FROM gone WHERE deleted_at IS NULL;
    DELETE FROM org WHERE id = target;
END $$;
