-- An account has one identity at the provider. Those that were linked later by e-mail go.
DELETE FROM "account" later USING "account" first
WHERE later."user_id" = first."user_id" AND later."provider_id" = first."provider_id"
  AND (later."created_at", later."id") > (first."created_at", first."id");
CREATE UNIQUE INDEX "account_user_id_provider_id_key" ON "account"("user_id", "provider_id");
DROP INDEX "account_user_id_idx";

-- Nothing ever used the provider's tokens.
UPDATE "account" SET "access_token" = NULL, "refresh_token" = NULL, "id_token" = NULL,
  "access_token_expires_at" = NULL, "refresh_token_expires_at" = NULL
WHERE "provider_id" <> 'credential';

-- A session ends when nobody uses it for a while.
ALTER TABLE "session" ADD COLUMN "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- A second factor after the password: an authenticator app, with recovery codes.
ALTER TABLE "user" ADD COLUMN "two_factor_enabled" BOOLEAN NOT NULL DEFAULT false;
CREATE TABLE "two_factor" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "secret" TEXT NOT NULL,
    "backup_codes" TEXT NOT NULL,
    "verified" BOOLEAN NOT NULL DEFAULT true,
    "failed_verification_count" INTEGER NOT NULL DEFAULT 0,
    "locked_until" TIMESTAMPTZ(3),

    CONSTRAINT "two_factor_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "two_factor_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "user"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "two_factor_user_id_key" ON "two_factor"("user_id");
ALTER TABLE "org" ADD COLUMN "requires_two_factor" BOOLEAN NOT NULL DEFAULT false;
