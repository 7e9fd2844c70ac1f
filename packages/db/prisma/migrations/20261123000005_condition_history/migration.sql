-- The conditions that a model has had. The runner writes each one together with the model's row, and
-- drops what is too old or too much.
CREATE TABLE "condition_change" (
    "model_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "condition" "model_condition" NOT NULL,
    "reason" TEXT,

    CONSTRAINT "condition_change_pkey" PRIMARY KEY ("model_id", "at"),
    CONSTRAINT "condition_change_model_id_fkey" FOREIGN KEY ("model_id") REFERENCES "model"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "condition_change_at_idx" ON "condition_change"("at");

GRANT SELECT, INSERT, UPDATE, DELETE ON "condition_change" TO tidegate_runner;
GRANT SELECT ON "condition_change" TO tidegate_console, tidegate_ctl;
