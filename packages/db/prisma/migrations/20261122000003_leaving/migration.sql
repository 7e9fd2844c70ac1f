-- Organizations can be deleted with everything of theirs. Audit events are kept for a limited time.

-- What is kept of a deleted organization, and which steps of the deletion are done.
CREATE TABLE "deleted_org" (
    "org_id" TEXT NOT NULL,
    "deleted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_by" TEXT NOT NULL,
    "forgotten_at" TIMESTAMPTZ(3),
    "purged_at" TIMESTAMPTZ(3),

    CONSTRAINT "deleted_org_pkey" PRIMARY KEY ("org_id")
);

CREATE INDEX "audit_event_at_idx" ON "audit_event"("at");

-- The functions run with the rights of their owner, so that services need no right to delete these rows. Whoever may call one
-- needs to be granted that.

-- Deletes an organization but for its usage, which may be large: purge_organization deletes that. Returns the ids of its
-- published models.
CREATE FUNCTION "delete_organization"("target" TEXT, "by_whom" TEXT) RETURNS SETOF TEXT
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    -- Waits for settlements that are being written. Those that come later see that the organization is deleted.
    LOCK TABLE month_total IN SHARE ROW EXCLUSIVE MODE;
    INSERT INTO deleted_org (org_id, deleted_by) VALUES (target, by_whom);
    DELETE FROM month_total WHERE org_id = target;
    -- A key refers to models that cannot be deleted before it.
    DELETE FROM api_key WHERE org_id = target;
    RETURN QUERY WITH gone AS (DELETE FROM model WHERE org_id = target RETURNING id, deleted_at)
        SELECT id FROM gone WHERE deleted_at IS NULL;
    DELETE FROM org WHERE id = target;
END $$;

-- Deletes the oldest day of a deleted organization's usage. Returns whether there may be more.
CREATE FUNCTION "purge_organization"("target" TEXT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    oldest DATE;
BEGIN
    IF EXISTS (SELECT FROM org WHERE id = target) THEN
        RAISE EXCEPTION 'the organization % exists', target;
    END IF;
    -- Every request row is part of a row of usage_day.
    SELECT min(day) INTO oldest FROM usage_day WHERE org_id = target;
    IF oldest IS NULL THEN
        UPDATE deleted_org SET purged_at = CURRENT_TIMESTAMP WHERE org_id = target AND purged_at IS NULL;
        RETURN false;
    END IF;
    DELETE FROM request WHERE day = oldest AND org_id = target;
    DELETE FROM usage_day WHERE day = oldest AND org_id = target;
    RETURN true;
END $$;

-- Deletes audit events that are older than this many days, at most 10,000. Returns how many.
CREATE FUNCTION "prune_audit_events"("keep_days" INTEGER) RETURNS INTEGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    pruned INTEGER;
BEGIN
    IF keep_days < 30 THEN
        RAISE EXCEPTION 'audit events are kept for at least 30 days';
    END IF;
    DELETE FROM audit_event WHERE id IN (
        SELECT id FROM audit_event WHERE at < CURRENT_TIMESTAMP - make_interval(days => keep_days) ORDER BY at LIMIT 10000);
    GET DIAGNOSTICS pruned = ROW_COUNT;
    RETURN pruned;
END $$;

REVOKE EXECUTE ON FUNCTION "delete_organization"(TEXT, TEXT), "purge_organization"(TEXT), "prune_audit_events"(INTEGER) FROM PUBLIC;
