#!/usr/bin/env node
/** Applies pending migrations to DATABASE_URL. Run it before a release's services start. */
import { migrationUrl } from './config.ts';
import { migrate } from './migrate.ts';

try {
  const applied = await migrate(migrationUrl());
  process.stdout.write(applied.length === 0 ? 'up to date\n' : `applied ${applied.join(', ')}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
