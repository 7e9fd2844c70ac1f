-- The requests of an organization can be listed, and each tells when its first chunk came.

-- Null: no stream had begun, the gateway died, or the row is older than this column.
ALTER TABLE "request" ADD COLUMN "first_chunk_ms" INTEGER,
    ADD CONSTRAINT "request_first_chunk_ms_check" CHECK ("first_chunk_ms" >= 0);

-- For the newest requests of an organization, and of a key with a model. Metering waits while they are built.
CREATE INDEX "request_org_id_admitted_at_idx" ON "request"("org_id", "admitted_at");
CREATE INDEX "request_key_id_model_id_admitted_at_idx" ON "request"("key_id", "model_id", "admitted_at");
-- For errors, which are few: all that counting them needs.
CREATE INDEX "request_errors_idx" ON "request"("org_id", "admitted_at", "error_code", "key_id", "model_id")
    WHERE NOT "answered";

GRANT SELECT ON "request" TO tidegate_console, tidegate_ctl;
