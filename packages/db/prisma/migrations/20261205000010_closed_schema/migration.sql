-- Up to Postgres 14 everybody may make things in a database's first schema, and a database that was
-- made there keeps this through upgrades. The functions that run as the owner look there for what
-- they call: with a function of its own, a service could have run anything as the owner.

-- Does nothing if the schema belongs to someone else. ctl doctor tells whether it is still open.
DO $$
BEGIN
    EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', current_schema());
END $$;
