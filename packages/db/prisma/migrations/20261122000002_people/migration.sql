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
