-- Sessions that have expired are looked up, to be deleted.

CREATE INDEX "session_expires_at_idx" ON "session"("expires_at");
