-- The list of models is a use of the key, too, but it leaves no settlement for metering to write.
GRANT UPDATE ("last_used_at") ON "api_key" TO tidegate_limiter;
