-- Workloads of deleted models, until the runner of the pool has scaled them down. A model may be
-- deleted while no runner acts, and an organization takes its models' rows with it.
CREATE TABLE "left_workload" (
    "model_id" TEXT NOT NULL,
    "pool" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "left_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "left_workload_pkey" PRIMARY KEY ("model_id")
);
CREATE INDEX "left_workload_pool_left_at_idx" ON "left_workload"("pool", "left_at");

CREATE FUNCTION "leave_workload"() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO left_workload (model_id, pool, settings) VALUES (OLD.id, OLD.pool, OLD.settings)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION "leave_workload"() FROM PUBLIC;

CREATE TRIGGER "model_deleted" AFTER UPDATE OF "deleted_at" ON "model" FOR EACH ROW
    WHEN (OLD.driver = 'kubernetes' AND OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL)
    EXECUTE FUNCTION leave_workload();
CREATE TRIGGER "model_row_deleted" AFTER DELETE ON "model" FOR EACH ROW
    WHEN (OLD.driver = 'kubernetes' AND OLD.deleted_at IS NULL)
    EXECUTE FUNCTION leave_workload();

GRANT SELECT, DELETE ON "left_workload" TO tidegate_runner;
