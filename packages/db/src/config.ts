import { databaseUrl, loadConfig, secret, type Variables } from '@tidegate/runtime/settings';
import { z } from 'zod';

const schema = z.object({ DATABASE_URL: secret(databaseUrl) });

/** The URL of the database to migrate. @throws ConfigError */
export const migrationUrl = (env: Variables = process.env): string => loadConfig(schema, env).DATABASE_URL;
