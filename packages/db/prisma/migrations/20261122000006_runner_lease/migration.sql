-- Elects the runner that acts. A lease, not an advisory lock: it needs no session of its own, so it
-- also holds through a pooler that hands sessions from client to client.

CREATE TABLE "runner_lease" (
    "pool" TEXT NOT NULL,
    "epoch" BIGINT NOT NULL,
    "holder" TEXT NOT NULL,
    "process" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "runner_lease_pkey" PRIMARY KEY ("pool"),
    CONSTRAINT "runner_lease_epoch_check" CHECK ("epoch" >= 1)
);
