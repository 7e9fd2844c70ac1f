import type { Db } from '@tidegate/db';

export const FAILURE = 'this test lets the database fail';

/**
 * Runs something while the test's own database fails at one kind of statement.
 *
 * @param statement such as `INSERT ON session`
 */
export async function failOn(db: Db, statement: string, run: () => Promise<void>): Promise<void> {
  const table = statement.split(' ').at(-1);
  await db.$executeRawUnsafe(`
    CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION '${FAILURE}'; END $$`);
  await db.$executeRawUnsafe(`CREATE TRIGGER fail BEFORE ${statement} FOR EACH ROW EXECUTE FUNCTION fail()`);
  try {
    await run();
  } finally {
    await db.$executeRawUnsafe(`DROP TRIGGER fail ON ${table}`);
  }
}
