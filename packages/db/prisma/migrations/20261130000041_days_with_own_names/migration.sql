-- A partition is named by the digits of its day. Days before our era have the digits of others:
-- asked for 2026-11-24 BC, the function below dropped the requests of 2026-11-24.

-- Drops the partition of one day, unless the day is one of the last 31. False: nothing was dropped.
-- Writers queue behind its lock, so it does not wait long: the next call tries again.
CREATE OR REPLACE FUNCTION "drop_request_partition"("unwanted" DATE) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '2s' AS $$
DECLARE
    name text := 'request_' || to_char(unwanted, 'YYYYMMDD');
BEGIN
    PERFORM pg_advisory_xact_lock(72707370);
    IF unwanted > (now() AT TIME ZONE 'UTC')::date - 31 OR unwanted < '0001-01-01' OR to_regclass(name) IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP TABLE %I', name);
    RETURN true;
END $$;

-- In its search path, temporary tables come last: a caller cannot put one in the place of "request".
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION drop_request_partition(date) SET search_path = %I, pg_temp', current_schema());
END $$;
