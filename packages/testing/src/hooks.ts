import { afterAll, beforeAll } from '@jest/globals';
import type { Db } from '@tidegate/db';
import { PATIENT_DB } from './patient.ts';
import { testPostgres } from './postgres.ts';

/*
 * A separate entry point: jest's hooks exist only while tests run, and global setup uses the other
 * entry.
 */

/**
 * Gives the tests of one file a migrated database of their own, with the shipped plans. Call the
 * result for its client, inside tests and hooks. A file's own `afterAll` runs after the client is
 * closed.
 */
export function ownTestDb(): () => Db {
  let db: Db | undefined;
  let end = async (): Promise<void> => {};
  beforeAll(async () => {
    const { closeDb, createDb } = await import('@tidegate/db');
    const postgres = await testPostgres();
    end = postgres.drop;
    const client = createDb(postgres.url, PATIENT_DB);
    db = client;
    end = async () => {
      await closeDb(client);
      await postgres.drop();
    };
  });
  afterAll(() => end());
  return () => {
    if (!db) throw new Error('the database exists only inside tests and hooks');
    return db;
  };
}
