import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { testPostgres } from './postgres.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('testPostgres', () => {
  it('gives each caller a migrated database that no other sees', async () => {
    const [one, two] = await Promise.all([testPostgres(), testPostgres()]);
    try {
      await query(one.url, 'DELETE FROM plan');
      expect(await query(one.url, 'SELECT name FROM plan')).toEqual([]);
      expect(await query(two.url, 'SELECT name FROM plan ORDER BY position')).toEqual([
        { name: 'Free' },
        { name: 'Starter' },
        { name: 'Pro' },
      ]);
    } finally {
      await Promise.all([one.drop(), two.drop()]);
    }
    await expect(query(one.url, 'SELECT 1')).rejects.toThrow(
      /does not exist|not currently accepting connections/,
    );
  });
});
