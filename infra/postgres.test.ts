import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RunningPostgres, startPostgres } from '@tidegate/embedded';
import { eventually, freePort } from '@tidegate/testing';
import pg from 'pg';

const SETTINGS = Object.fromEntries(
  [...readFileSync(join(import.meta.dirname, 'postgres.conf'), 'utf8').matchAll(/^(\w+) = '?(.*?)'?$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);

let directory: string;
let postgres: RunningPostgres;
let client: pg.Client;
let log = '';

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tidegate-postgres-conf-'));
  postgres = await startPostgres({
    dataDir: join(directory, 'data'),
    port: await freePort(),
    settings: { ...SETTINGS, fsync: 'off' },
    onLog: (line) => {
      log += `${line}\n`;
    },
  });
  client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await postgres?.stop();
  rmSync(directory, { recursive: true, force: true });
});

describe('postgres.conf', () => {
  it('logs slow statements without their parameters, which may be secrets', async () => {
    await client.query('SET log_min_duration_statement = 0');
    await client.query('SELECT $1::text AS slow', ['secret-of-this-test']);
    await client.query('SELECT 1 AS later');
    await eventually(() => /duration: .* later/.test(log));
    expect(log).toMatch(/duration: .* AS slow/);
    expect(log).not.toContain('secret-of-this-test');
  });

  it('has only settings that differ from the defaults', async () => {
    const { rows } = await client.query(
      'SELECT name FROM pg_settings WHERE name = ANY ($1) AND reset_val = boot_val',
      [Object.keys(SETTINGS)],
    );
    expect(rows).toEqual([]);
  });
});
