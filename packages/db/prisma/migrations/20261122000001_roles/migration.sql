-- A role for each service. It has the rights that the service's statements need, and no more. The
-- roles cannot log in: logins are members of them. A table that is added later is closed to all of
-- them until its migration grants something.

-- Roles belong to the whole server, so another database may have made them already, or may be
-- making them at this moment.
DO $$
DECLARE
    service text;
BEGIN
    FOREACH service IN ARRAY ARRAY['limiter', 'metering', 'runner', 'console', 'ctl'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tidegate_' || service) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', 'tidegate_' || service);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN NULL;
                WHEN insufficient_privilege THEN
                    RAISE EXCEPTION '% may not create the role tidegate_%: run the statements of docs/accounts.md first, as a user who may', current_user, service
                        USING ERRCODE = 'insufficient_privilege';
            END;
        END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), 'tidegate_' || service);
    END LOOP;
END $$;

-- The limiter reads limits, keys and totals. It writes only which life of its state it has seen.
GRANT SELECT ON "org", "plan", "api_key", "api_key_model", "month_total" TO tidegate_limiter;
GRANT SELECT ("day", "reservation_id") ON "request" TO tidegate_limiter;
GRANT UPDATE ("limiter_life") ON "org" TO tidegate_limiter;

-- Metering writes usage. Partitions of requests are made and dropped by the functions below.
GRANT SELECT, INSERT ON "request" TO tidegate_metering;
GRANT SELECT, INSERT, UPDATE ON "usage_day", "month_total" TO tidegate_metering;
GRANT SELECT ("id", "last_used_at"), UPDATE ("last_used_at") ON "api_key" TO tidegate_metering;

-- The runner reads models and writes their conditions.
GRANT SELECT ON "model" TO tidegate_runner;
GRANT UPDATE ("condition", "condition_reason", "condition_at") ON "model" TO tidegate_runner;

-- The console and ctl manage. Nobody changes or deletes what the audit trail has. To lock a row, a
-- role must be allowed to update one of its columns: that is why the console has one of a plan's.
GRANT SELECT, INSERT ON "audit_event" TO tidegate_console, tidegate_ctl;
GRANT SELECT ON "usage_day", "month_total" TO tidegate_console, tidegate_ctl;
GRANT SELECT, INSERT, UPDATE, DELETE ON "member" TO tidegate_console, tidegate_ctl;
GRANT SELECT, INSERT, DELETE ON "api_key" TO tidegate_console, tidegate_ctl;
GRANT UPDATE ("revoked_at") ON "api_key" TO tidegate_console, tidegate_ctl;
GRANT SELECT, INSERT ON "api_key_model", "model" TO tidegate_console, tidegate_ctl;
GRANT UPDATE ("deleted_at") ON "model" TO tidegate_console, tidegate_ctl;
GRANT SELECT ON "org", "plan" TO tidegate_console, tidegate_ctl;
GRANT UPDATE ("plan_id", "limits_version") ON "org" TO tidegate_console, tidegate_ctl;

GRANT UPDATE ("updated_at") ON "plan" TO tidegate_console;
GRANT SELECT, INSERT, UPDATE ON "user" TO tidegate_console;
GRANT SELECT, INSERT, UPDATE, DELETE ON "account", "session", "verification", "invitation", "sign_in_attempt" TO tidegate_console;

GRANT INSERT ON "org" TO tidegate_ctl;
GRANT INSERT, UPDATE ON "plan" TO tidegate_ctl;
GRANT SELECT, INSERT, UPDATE ON "user", "account" TO tidegate_ctl;
GRANT SELECT, DELETE ON "session" TO tidegate_ctl;

-- Metering owns no table, so these run as whoever migrates. In their search path, temporary tables
-- come last: a caller cannot put one in the place of "request".

-- Makes the partition of one day. It makes a table and then attaches it. Unlike making the
-- partition in place, this locks "request" against no reader or writer. False: it was there.
CREATE FUNCTION "create_request_partition"("wanted" DATE) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    name text := 'request_' || to_char(wanted, 'YYYYMMDD');
BEGIN
    -- An arbitrary number. Only one session at a time makes or drops partitions.
    PERFORM pg_advisory_xact_lock(72707370);
    IF to_regclass(name) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE request INCLUDING ALL)', name);
    EXECUTE format('ALTER TABLE request ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, wanted, wanted + 1);
    RETURN true;
END $$;

-- Drops the partition of one day, unless the day is one of the last 31. False: nothing was dropped.
-- Writers queue behind its lock, so it does not wait long: the next call tries again.
CREATE FUNCTION "drop_request_partition"("unwanted" DATE) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '2s' AS $$
DECLARE
    name text := 'request_' || to_char(unwanted, 'YYYYMMDD');
BEGIN
    PERFORM pg_advisory_xact_lock(72707370);
    IF unwanted > (now() AT TIME ZONE 'UTC')::date - 31 OR to_regclass(name) IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE %I', name);
    RETURN true;
END $$;

DO $$
DECLARE
    made text;
BEGIN
    FOREACH made IN ARRAY ARRAY['create_request_partition(date)', 'drop_request_partition(date)'] LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', made, current_schema());
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION "create_request_partition"(DATE), "drop_request_partition"(DATE) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION "create_request_partition"(DATE), "drop_request_partition"(DATE) TO tidegate_metering;
