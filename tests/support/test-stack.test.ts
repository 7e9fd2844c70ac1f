import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestPostgres, testPostgres } from '@tidegate/testing';
import pg from 'pg';
import { asTheirRoles } from './test-stack.mjs';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await testPostgres();
});
afterAll(() => postgres.drop());

describe('a stack of the tests', () => {
  it.each(['limiter', 'metering', 'runner', 'console'] as const)(
    'has a %s with the rights of its role alone, as in production',
    async (service) => {
      const given = { [service]: { LOG_LEVEL: 'trace' }, gateway: { TRUSTED_PROXIES: '1' } };
      const env = asTheirRoles(postgres.url, given);
      expect(env).toMatchObject(given);
      const client = new pg.Client({ connectionString: env[service]?.DATABASE_URL });
      await client.connect();
      try {
        const asked = "SELECT current_user AS role, current_setting('is_superuser') AS super";
        expect((await client.query(asked)).rows).toEqual([{ role: `tidegate_${service}`, super: 'off' }]);
      } finally {
        await client.end();
      }
    },
  );
});
