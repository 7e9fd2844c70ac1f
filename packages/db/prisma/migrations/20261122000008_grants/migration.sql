-- What services need of the tables, columns and functions that came after their roles.

-- The limiter forgets deleted organizations, and metering deletes their usage. Metering also drops
-- audit events that are old enough: by functions, so that it has no right to the rows themselves.
GRANT SELECT ON "deleted_org" TO tidegate_limiter, tidegate_metering, tidegate_console, tidegate_ctl;
GRANT UPDATE ("forgotten_at") ON "deleted_org" TO tidegate_limiter;
GRANT EXECUTE ON FUNCTION "delete_organization"(TEXT, TEXT) TO tidegate_console, tidegate_ctl;
GRANT EXECUTE ON FUNCTION "purge_organization"(TEXT) TO tidegate_metering, tidegate_console, tidegate_ctl;
GRANT EXECUTE ON FUNCTION "prune_audit_events"(INTEGER) TO tidegate_metering;

-- Runners elect the one that acts.
GRANT SELECT, INSERT, UPDATE ON "runner_lease" TO tidegate_runner;

-- Settings of models can be changed. What a model is called and what kind it is cannot.
GRANT UPDATE ("settings", "version", "context_tokens", "sleep_after_s", "upstream_model", "upstream_key")
    ON "model" TO tidegate_console, tidegate_ctl;

-- Second factors, and accounts that are deleted or mended.
GRANT SELECT, INSERT, UPDATE, DELETE ON "two_factor" TO tidegate_console;
GRANT SELECT, DELETE ON "two_factor" TO tidegate_ctl;
GRANT UPDATE ("requires_two_factor") ON "org" TO tidegate_console, tidegate_ctl;
GRANT DELETE ON "user" TO tidegate_console, tidegate_ctl;
GRANT DELETE ON "account" TO tidegate_ctl;
GRANT SELECT, DELETE ON "invitation", "sign_in_attempt" TO tidegate_ctl;
