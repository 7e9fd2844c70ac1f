#!/usr/bin/env node
/**
 * Applies pending migrations to DATABASE_URL, and creates the services' logins if their passwords
 * are set. Run it before a release's services start.
 */
import { readConfig } from './config.ts';
import { createLogins } from './logins.ts';
import { migrate } from './migrate.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

try {
  const { url, passwords } = readConfig();
  const applied = await migrate(url, { say });
  await createLogins(url, passwords);
  process.stdout.write(applied.length === 0 ? 'up to date\n' : `applied ${applied.join(', ')}\n`);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
