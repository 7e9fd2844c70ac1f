import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeDb, createDb } from '@tidegate/db';
import { PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { asTheirRoles } from './test-stack.mjs';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await testPostgres();
});
afterAll(() => postgres.drop());

describe('the stack of the tests', () => {
  it.each(['limiter', 'metering', 'runner', 'console'] as const)(
    'has a %s with the rights of its role alone, as in production',
    async (service) => {
      const given = { [service]: { LOG_LEVEL: 'trace' }, gateway: { TRUSTED_PROXIES: '1' } };
      const env = asTheirRoles(postgres.url, given);
      expect(env).toMatchObject(given);
      const db = createDb(env[service]?.DATABASE_URL ?? '', { ...PATIENT_DB, maxConnections: 1 });
      try {
        const rows = await db.$queryRaw`
          SELECT current_user::text AS role, current_setting('is_superuser') AS super`;
        expect(rows).toEqual([{ role: `tidegate_${service}`, super: 'off' }]);
      } finally {
        await closeDb(db);
      }
    },
  );
});
