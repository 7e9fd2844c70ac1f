-- All of schema.prisma, and what Prisma's language cannot say: partitions, a partial index, checks, the shipped plans.

CREATE TYPE "role" AS ENUM ('owner', 'member', 'viewer');
CREATE TYPE "model_kind" AS ENUM ('text', 'vision');
CREATE TYPE "model_mode" AS ENUM ('always_on', 'wake_on_request');
CREATE TYPE "model_condition" AS ENUM ('stopped', 'starting', 'running', 'asleep', 'failed');

CREATE TABLE "plan" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "keys" INTEGER NOT NULL,
    "requests_per_month" BIGINT NOT NULL,
    "requests_per_minute" INTEGER NOT NULL,
    "requests_at_once" INTEGER NOT NULL,
    "tokens_per_month" BIGINT NOT NULL,
    "images" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "plan_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "plan_name_check" CHECK (char_length("name") >= 1),
    CONSTRAINT "plan_keys_check" CHECK ("keys" BETWEEN 0 AND 50),
    CONSTRAINT "plan_requests_per_month_check" CHECK ("requests_per_month" >= 0),
    CONSTRAINT "plan_requests_per_minute_check" CHECK ("requests_per_minute" >= 1),
    CONSTRAINT "plan_requests_at_once_check" CHECK ("requests_at_once" >= 1),
    CONSTRAINT "plan_tokens_per_month_check" CHECK ("tokens_per_month" >= 0)
);
CREATE UNIQUE INDEX "plan_name_key" ON "plan"("name");

CREATE TABLE "org" (
    "id" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "plan_id" TEXT NOT NULL,
    "limits_version" BIGINT NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "org_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "org_id_check" CHECK ("id" ~ '^org_[0-9A-Za-z]{12}$'),
    CONSTRAINT "org_limits_version_check" CHECK ("limits_version" >= 1),
    CONSTRAINT "org_plan_id_fkey" FOREIGN KEY ("plan_id") REFERENCES "plan"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "org_slug_key" ON "org"("slug");
CREATE INDEX "org_plan_id_idx" ON "org"("plan_id");

CREATE TABLE "user" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "email_verified" BOOLEAN NOT NULL DEFAULT false,
    "image" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "user_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "user_email_key" ON "user"("email");

CREATE TABLE "session" (
    "id" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ip_address" TEXT,
    "user_agent" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "session_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "session_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "session_token_key" ON "session"("token");
CREATE INDEX "session_user_id_idx" ON "session"("user_id");

CREATE TABLE "account" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "access_token" TEXT,
    "refresh_token" TEXT,
    "id_token" TEXT,
    "access_token_expires_at" TIMESTAMPTZ(3),
    "refresh_token_expires_at" TIMESTAMPTZ(3),
    "scope" TEXT,
    "password" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "account_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "account_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "account_user_id_idx" ON "account"("user_id");

CREATE TABLE "verification" (
    "id" TEXT NOT NULL,
    "identifier" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "verification_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "verification_identifier_idx" ON "verification"("identifier");

CREATE TABLE "member" (
    "org_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "role" "role" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "member_pkey" PRIMARY KEY ("org_id", "user_id"),
    CONSTRAINT "member_org_id_fkey" FOREIGN KEY ("org_id") REFERENCES "org"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "member_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "member_user_id_idx" ON "member"("user_id");

CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "org_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "all_models" BOOLEAN NOT NULL,
    "requests_per_minute" INTEGER NOT NULL,
    "requests_at_once" INTEGER NOT NULL,
    "expires_on" DATE,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "api_key_name_check" CHECK (char_length("name") BETWEEN 1 AND 80),
    CONSTRAINT "api_key_prefix_check" CHECK (left("prefix", 3) = 'ti_' AND char_length("prefix") <= 16),
    CONSTRAINT "api_key_hash_check" CHECK (octet_length("hash") = 32),
    CONSTRAINT "api_key_requests_per_minute_check" CHECK ("requests_per_minute" BETWEEN 1 AND 6000),
    CONSTRAINT "api_key_requests_at_once_check" CHECK ("requests_at_once" BETWEEN 1 AND 256),
    CONSTRAINT "api_key_org_id_fkey" FOREIGN KEY ("org_id") REFERENCES "org"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "api_key_hash_key" ON "api_key"("hash");
CREATE INDEX "api_key_org_id_created_at_idx" ON "api_key"("org_id", "created_at");

CREATE TABLE "model" (
    "id" TEXT NOT NULL,
    "org_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" "model_kind" NOT NULL,
    "mode" "model_mode" NOT NULL,
    "context_tokens" INTEGER NOT NULL,
    "driver" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "upstream_model" TEXT,
    "upstream_key" BYTEA,
    "sleep_after_s" INTEGER NOT NULL DEFAULT 600,
    "published_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),
    "condition" "model_condition" NOT NULL,
    "condition_reason" TEXT,
    "condition_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "model_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "model_name_check" CHECK (char_length("name") >= 1),
    CONSTRAINT "model_context_tokens_check" CHECK ("context_tokens" >= 1),
    CONSTRAINT "model_sleep_after_s_check" CHECK ("sleep_after_s" >= 1),
    CONSTRAINT "model_settings_check" CHECK (jsonb_typeof("settings") = 'object'),
    CONSTRAINT "model_org_id_fkey" FOREIGN KEY ("org_id") REFERENCES "org"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "model_org_id_name_idx" ON "model"("org_id", "name");
-- A name is free again once its model is deleted.
CREATE UNIQUE INDEX "model_org_id_name_key" ON "model"("org_id", "name") WHERE "deleted_at" IS NULL;

CREATE TABLE "api_key_model" (
    "key_id" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,

    CONSTRAINT "api_key_model_pkey" PRIMARY KEY ("key_id", "model_id"),
    CONSTRAINT "api_key_model_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_key"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "api_key_model_model_id_fkey" FOREIGN KEY ("model_id") REFERENCES "model"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "api_key_model_model_id_idx" ON "api_key_model"("model_id");

-- No default partition: a row for a day without one is refused loudly, and dropping a day is dropping a table.
CREATE TABLE "request" (
    "reservation_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "org_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,
    "admitted_at" TIMESTAMPTZ(3) NOT NULL,
    "answered" BOOLEAN NOT NULL,
    "error_code" TEXT,
    "streamed" BOOLEAN NOT NULL,
    "prompt_tokens" INTEGER,
    "completion_tokens" INTEGER,
    "reserved_tokens" INTEGER NOT NULL,
    "charged_tokens" INTEGER NOT NULL,
    "duration_ms" INTEGER,

    CONSTRAINT "request_pkey" PRIMARY KEY ("day", "reservation_id"),
    CONSTRAINT "request_usage_check" CHECK (("prompt_tokens" IS NULL) = ("completion_tokens" IS NULL) AND "prompt_tokens" >= 0 AND "completion_tokens" >= 0),
    CONSTRAINT "request_charge_check" CHECK ("charged_tokens" BETWEEN 0 AND "reserved_tokens"),
    CONSTRAINT "request_duration_ms_check" CHECK ("duration_ms" >= 0)
) PARTITION BY RANGE ("day");

CREATE TABLE "usage_day" (
    "org_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "key_id" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,
    "requests" BIGINT NOT NULL,
    "errors" BIGINT NOT NULL,
    "prompt_tokens" BIGINT NOT NULL,
    "completion_tokens" BIGINT NOT NULL,
    "unreported_tokens" BIGINT NOT NULL,
    "duration_ms_sum" BIGINT NOT NULL,
    "duration_count" BIGINT NOT NULL,

    CONSTRAINT "usage_day_pkey" PRIMARY KEY ("org_id", "day", "key_id", "model_id"),
    CONSTRAINT "usage_day_errors_check" CHECK ("errors" BETWEEN 0 AND "requests")
);

CREATE TABLE "month_total" (
    "org_id" TEXT NOT NULL,
    "month" CHAR(7) NOT NULL,
    "requests" BIGINT NOT NULL,
    "charged_tokens" BIGINT NOT NULL,

    CONSTRAINT "month_total_pkey" PRIMARY KEY ("org_id", "month"),
    CONSTRAINT "month_total_month_check" CHECK ("month" ~ '^[0-9]{4}-(0[1-9]|1[0-2])$')
);

CREATE TABLE "audit_event" (
    "id" TEXT NOT NULL,
    "org_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "details" JSONB NOT NULL,

    CONSTRAINT "audit_event_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "audit_event_org_id_fkey" FOREIGN KEY ("org_id") REFERENCES "org"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "audit_event_org_id_at_idx" ON "audit_event"("org_id", "at");

INSERT INTO "plan" ("id", "name", "position", "keys", "requests_per_month", "requests_per_minute", "requests_at_once", "tokens_per_month", "images", "updated_at") VALUES
    ('plan_free', 'Free', 1, 3, 5000, 60, 4, 5000000, false, CURRENT_TIMESTAMP),
    ('plan_starter', 'Starter', 2, 10, 100000, 600, 32, 200000000, false, CURRENT_TIMESTAMP),
    ('plan_pro', 'Pro', 3, 50, 2000000, 6000, 256, 5000000000, true, CURRENT_TIMESTAMP);
