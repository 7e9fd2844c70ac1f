import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { refusal } from '../fixture.ts';
import { findOrCreateUser } from './user.ts';

let postgres: TestPostgres;
let db: Db;

beforeAll(async () => {
  postgres = await testPostgres();
  db = createDb(postgres.url, PATIENT_DB);
});
afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});

describe('findOrCreateUser', () => {
  it('refuses an account that was deleted since it was known, and creates none without a password', async () => {
    const email = 'gone@example.com';
    const found = await db.$transaction((tx) => findOrCreateUser(tx, Date.now(), email, null));
    expect(refusal(found)).toEqual({
      code: 'conflict',
      message: 'The account of gone@example.com has just been deleted. Try again.',
    });
    expect(await db.user.count({ where: { email } })).toBe(0);
  });
});
