import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { MIGRATIONS } from './migrate.ts';

/** Up to this migration there was no release whose services could run beside the new schema. */
const BEFORE_THE_RULE = '20261122000008_grants';

/**
 * Migrations that take something away, each with the reason why the previous release can do
 * without.
 */
const ALLOWED: Readonly<Record<string, string>> = {
  '20261130000041_days_with_own_names':
    'replaces the function by which metering drops a partition, and the function drops fewer',
  '20261201000050_trail_of_operators':
    'allows events without an organization, and the previous release reads only those of an organization',
  '20261204000010_passkey_counters':
    'takes larger numbers, and the previous release reads and writes those that it could before',
};

/** What the previous release may not survive. */
const CONTRACTS: readonly [what: string, words: RegExp][] = [
  ['drops', /\bDROP\b(?! FUNCTION IF EXISTS pg_temp)/],
  ['renames', /\bRENAME\b/],
  ['changes a type', /\bALTER COLUMN\b[^;]*?\bTYPE\b|\bALTER TYPE\b(?![^;]*\bADD VALUE\b)/],
  ['forbids null', /\bSET NOT NULL\b/],
  ['takes a right', /\bREVOKE\b(?![^;]*\bFROM PUBLIC\b)/],
  ['empties', /\bTRUNCATE\b/],
];
const COLUMN = /\bADD COLUMN\b[^,;]*/g;

/** Up to this migration, some read all requests while they held the table. */
const BEFORE_LARGE_TABLES = '20261205000010_closed_schema';

/** What reads all rows of `request`, which metering cannot write meanwhile. */
const HOLDS_REQUESTS: readonly [what: string, words: RegExp][] = [
  ['builds an index without ON ONLY', /\bCREATE (UNIQUE )?INDEX\b[^;]*? ON "?REQUEST\b/],
  ['checks without NOT VALID', /\bALTER TABLE (ONLY )?"?REQUEST\b[^;]*\bCHECK\b(?![^;]*\bNOT VALID\b)/],
];

/** In capitals, without comments, on one line. */
const bare = (sql: string): string =>
  sql
    .replace(/--.*$/gm, '')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .toUpperCase();

const holdsRequests = (sql: string): string[] =>
  HOLDS_REQUESTS.filter(([, words]) => words.test(bare(sql))).map(([what]) => what);

const sqlOf = (name: string): string => readFileSync(join(MIGRATIONS, name, 'migration.sql'), 'utf8');

function contractions(sql: string): string[] {
  const text = bare(sql);
  const found = CONTRACTS.filter(([, words]) => words.test(text)).map(([what]) => what);
  const needed = [...text.matchAll(COLUMN)].some(
    ([column]) => /\bNOT NULL\b/.test(column) && !/\b(DEFAULT|GENERATED|SERIAL|BIGSERIAL)\b/.test(column),
  );
  return needed ? [...found, 'adds a column that the previous release does not fill'] : found;
}

const migrations = readdirSync(MIGRATIONS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

describe('a migration', () => {
  it.each(migrations.filter((name) => name > BEFORE_THE_RULE))(
    '%s only expands, so that the previous release works beside it',
    (name) => {
      const found = contractions(sqlOf(name));
      if (name in ALLOWED) expect(found).not.toEqual([]);
      else expect(found).toEqual([]);
    },
  );

  it.each([
    'DROP TABLE "x"',
    'ALTER TABLE "x" DROP COLUMN "y"',
    'alter table x rename y to z',
    'ALTER TABLE "x" ALTER COLUMN "y" TYPE BIGINT',
    'ALTER TABLE "x" ALTER COLUMN "y" SET DATA TYPE BIGINT',
    'ALTER TABLE "x" ALTER COLUMN "y" SET NOT NULL',
    'ALTER TABLE "x" ADD COLUMN "y" INTEGER NOT NULL, ADD COLUMN "z" INTEGER DEFAULT 1',
    'REVOKE SELECT ON "x" FROM tidegate_limiter',
    'TRUNCATE "x"',
  ])('that takes something away is noticed: %s', (sql) => {
    expect(contractions(sql)).toHaveLength(1);
  });

  it.each([
    'CREATE TABLE "x" ("y" INTEGER NOT NULL)',
    'ALTER TABLE "x" ADD COLUMN "y" INTEGER NOT NULL DEFAULT 0, ADD COLUMN "z" TEXT',
    '-- DROP TABLE "x"\nGRANT SELECT ON "x" TO tidegate_limiter',
    "ALTER TYPE mode ADD VALUE 'other'",
    'REVOKE ALL ON FUNCTION f() FROM PUBLIC',
  ])('that only adds is accepted: %s', (sql) => {
    expect(contractions(sql)).toEqual([]);
  });

  it.each(migrations.filter((name) => name > BEFORE_LARGE_TABLES))(
    '%s reads no requests while metering waits',
    (name) => {
      expect(holdsRequests(sqlOf(name))).toEqual([]);
    },
  );

  it('that reads all requests is noticed', () => {
    expect(holdsRequests(sqlOf('20261123000003_request_log'))).toHaveLength(2);
  });

  it.each([
    'CREATE UNIQUE INDEX i ON request (day)',
    'ALTER TABLE "request" ADD COLUMN "x" INTEGER CHECK ("x" > 0)',
  ])('that makes metering wait for all requests is noticed: %s', (sql) => {
    expect(holdsRequests(sql)).toHaveLength(1);
  });

  it.each([
    'CREATE INDEX "i" ON ONLY "request"("day")',
    'CREATE INDEX "i" ON "request_day"("day")',
    'ALTER TABLE "request" ADD COLUMN "x" INTEGER, ADD CONSTRAINT "c" CHECK ("x" > 0) NOT VALID',
  ])('that reads no requests is accepted: %s', (sql) => {
    expect(holdsRequests(sql)).toEqual([]);
  });
});
