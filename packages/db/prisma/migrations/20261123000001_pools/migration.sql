-- Models belong to pools of runners, share what a pool has, and one runner of each pool acts.

ALTER TABLE "model"
    ADD COLUMN "pool" TEXT NOT NULL DEFAULT 'local',
    ADD COLUMN "cost" INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN "pinned" BOOLEAN NOT NULL DEFAULT false,
    ADD CONSTRAINT "model_pool_check" CHECK ("pool" ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    ADD CONSTRAINT "model_cost_check" CHECK ("cost" >= 0);

-- A pool without a row has no capacity: any number of its models run at once.
CREATE TABLE "runner_pool" (
    "name" TEXT NOT NULL,
    "capacity" INTEGER NOT NULL,

    CONSTRAINT "runner_pool_pkey" PRIMARY KEY ("name"),
    CONSTRAINT "runner_pool_name_check" CHECK ("name" ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    CONSTRAINT "runner_pool_capacity_check" CHECK ("capacity" >= 1)
);

-- Machines are the operator's: only ctl says which pool a model belongs to, and what it takes.
GRANT UPDATE ("pool", "cost", "pinned") ON "model" TO tidegate_ctl;
GRANT SELECT, INSERT, UPDATE, DELETE ON "runner_pool" TO tidegate_ctl;
GRANT SELECT ON "runner_pool" TO tidegate_runner;
-- A model may leave a pool that no runner leads.
GRANT SELECT ("pool", "expires_at") ON "runner_lease" TO tidegate_ctl;
