#!/usr/bin/env node
/** Applies pending migrations to DATABASE_URL: run once before the services of a release start. */
import { migrate } from './migrate.ts';

const url = process.env.DATABASE_URL;
if (url === undefined || url === '') {
  process.stderr.write('DATABASE_URL is not set\n');
  process.exit(1);
}
try {
  const applied = await migrate(url);
  process.stdout.write(applied.length === 0 ? 'up to date\n' : `applied ${applied.join(', ')}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
