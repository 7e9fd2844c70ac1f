#!/usr/bin/env node
/**
 * Applies pending migrations to DATABASE_URL, and makes the services' logins if it is given their
 * passwords. Run it before a release's services start.
 */
import { readConfig } from './config.ts';
import { makeLogins } from './logins.ts';
import { migrate } from './migrate.ts';

try {
  const { url, passwords } = readConfig();
  const applied = await migrate(url);
  await makeLogins(url, passwords);
  process.stdout.write(applied.length === 0 ? 'up to date\n' : `applied ${applied.join(', ')}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
