-- Services look whether the database has the migrations of their release. Prisma's table is there
-- before the first migration, except where a tool runs the migrations without it.
DO $$
BEGIN
  IF to_regclass('_prisma_migrations') IS NOT NULL THEN
    GRANT SELECT ("migration_name", "finished_at", "rolled_back_at") ON "_prisma_migrations"
      TO tidegate_limiter, tidegate_metering, tidegate_runner, tidegate_console, tidegate_ctl;
  END IF;
END
$$;
