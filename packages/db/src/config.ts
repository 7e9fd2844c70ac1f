import { databaseUrl, loadConfig, secret, type Variables } from '@tidegate/runtime/settings';
import { z } from 'zod';
import { DATABASE_SERVICES, type DatabaseService } from './logins.ts';

/** Characters with no special meaning in a URL, because the password becomes part of one. */
const PASSWORD = /^[\w.~-]{16,128}$/;

const passwords = z.string().transform((text, context) => {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const made: Partial<Record<DatabaseService, string>> = {};
  for (const entry of entries) {
    const [name, password = '', ...more] = entry.split(':');
    const service = DATABASE_SERVICES.find((each) => each === name);
    if (service && PASSWORD.test(password) && more.length === 0) made[service] = password;
  }
  if (Object.keys(made).length === entries.length) return made;
  context.addIssue({
    code: 'custom',
    message: `must be SERVICE:PASSWORD, or several separated by commas: each service once, one of ${DATABASE_SERVICES.join(', ')}, each password 16 to 128 letters, digits and -._~`,
  });
  return z.NEVER;
});

export const schema = z.object({
  DATABASE_URL: secret(databaseUrl).describe(
    'The database to migrate, directly and not through a pooler, with the login that owns it',
  ),
  SERVICE_DATABASE_PASSWORDS: secret(passwords.default({})).describe(
    "Creates the services' [logins](accounts.md) with these passwords: `limiter:PASSWORD,metering:PASSWORD` and so on. Without it, none are created or changed",
  ),
});

/** The database to migrate, and the passwords of the logins to create. @throws ConfigError */
export function readConfig(env: Variables = process.env) {
  const { DATABASE_URL, SERVICE_DATABASE_PASSWORDS } = loadConfig(schema, env);
  return { url: DATABASE_URL, passwords: SERVICE_DATABASE_PASSWORDS };
}
