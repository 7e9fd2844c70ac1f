export { closeDb, createDb, type Db, type DbOptions, SILENCE_MS } from './client.ts';
export { ConnectError, checkPostgres } from './connect.ts';
export {
  explainPostgres,
  isRefusedForNow,
  LOCK_NOT_AVAILABLE,
  sqlStateOf,
  TOOK_TOO_LONG,
} from './explain.ts';
export * from './generated/client.ts';
export { createLogins, DATABASE_SERVICES, type DatabaseService, loginUrl } from './logins.ts';
export { MigrationError, migrate } from './migrate.ts';
export { dropOldRequestPartitions, ensureRequestPartitions, listRequestPartitions } from './partitions.ts';
export { SchemaVersion, type SchemaVersionOptions, watchSchema } from './schema-version.ts';
export { postgresTooOld } from './server-version.ts';
