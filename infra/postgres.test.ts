import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { type RunningPostgres, startPostgres } from '@tidegate/embedded';
import { eventually, freePort, PATIENT_DB } from '@tidegate/testing';

const SETTINGS = Object.fromEntries(
  [...readFileSync(join(import.meta.dirname, 'postgres.conf'), 'utf8').matchAll(/^(\w+) = '?(.*?)'?$/gm)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);

let directory: string;
let postgres: RunningPostgres;
let db: Db;
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
  db = createDb(postgres.url, { ...PATIENT_DB, maxConnections: 1 });
});
afterAll(async () => {
  if (db) await closeDb(db);
  await postgres?.stop();
  rmSync(directory, { recursive: true, force: true });
});

describe('postgres.conf', () => {
  it('logs slow statements without their parameters, which may be secrets', async () => {
    await db.$executeRaw`SET log_min_duration_statement = 0`;
    await db.$queryRaw`SELECT ${'secret-of-this-test'}::text AS slow`;
    await db.$queryRaw`SELECT 1 AS later`;
    await eventually(() => /duration: .* later/.test(log));
    expect(log).toMatch(/duration: .* AS slow/);
    expect(log).not.toContain('secret-of-this-test');
  });

  it('has only settings that differ from the defaults', async () => {
    const same = await db.$queryRaw`
      SELECT name FROM pg_settings WHERE name = ANY (${Object.keys(SETTINGS)}) AND reset_val = boot_val`;
    expect(same).toEqual([]);
  });
});
