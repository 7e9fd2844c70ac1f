-- Limiters are told of revocations again, in case whoever told them first did not get that far: the last ones are looked up.

CREATE INDEX "api_key_revoked_at_idx" ON "api_key"("revoked_at");
