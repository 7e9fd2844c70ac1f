-- A command runs on the runner's machine, and a workload in its cluster. Only operators publish
-- these. The console never did otherwise, but its role could: whoever broke into it could run
-- programs there.

CREATE FUNCTION "keep_commands"() RETURNS TRIGGER
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- What owners may change of any model.
    times text[] := ARRAY['healthPath', 'startTimeoutS', 'replicas', 'service', 'port'];
BEGIN
    -- Who says in which pool a model runs also says what runs there.
    IF NEW.driver = 'external' OR has_column_privilege(TG_RELID, 'pool', 'UPDATE') THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.settings - times <> OLD.settings - times THEN
        RAISE EXCEPTION 'permission denied: only an operator publishes or changes a command'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION "keep_commands"() FROM PUBLIC;

CREATE TRIGGER "model_keeps_commands" BEFORE INSERT OR UPDATE OF "driver", "settings" ON "model"
    FOR EACH ROW EXECUTE FUNCTION "keep_commands"();
