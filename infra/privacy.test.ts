import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { KEPT_CONDITIONS } from '@tidegate/contracts';
import { DAY_MS, HOUR_MS, KEPT_DAYS, LIMITS, WINDOW_MS } from '@tidegate/limits';

/*
 * docs/privacy.md says what is kept for how long. This reads the same from the code: from packages,
 * and where an app has a constant of its own, from its source.
 */

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/privacy.md');
const AUTH = 'apps/console/src/server/auth';

const MINUTE_MS = 60_000;
const UNITS: Readonly<Record<string, number>> = { DAY_MS, HOUR_MS };

/** What a source gives to names with this ending: numbers, or products of them and of `UNITS`. */
function numbersIn(path: string, name: string): number[] {
  const given = [...read(path).matchAll(new RegExp(`${name}(?: =|:) ([\\dA-Z][\\w *]*)`, 'g'))];
  return given.map(([, product = '']) =>
    product
      .split('*')
      .map((factor) => factor.trim())
      .reduce((number, factor) => number * (UNITS[factor] ?? Number(factor.replaceAll('_', ''))), 1),
  );
}

/**
 * The one number of that name.
 *
 * @throws Error if there is none, or more than one
 */
function numberIn(path: string, name: string): number {
  const [number = Number.NaN, ...others] = numbersIn(path, name);
  if (Number.isNaN(number) || others.length > 0) throw new Error(`${path} has no single number ${name}`);
  return number;
}

/**
 * What a source has in the place of the pattern's group.
 *
 * @throws Error if there is no such place
 */
function textIn(path: string, pattern: RegExp): string {
  const text = pattern.exec(read(path))?.[1];
  if (text === undefined) throw new Error(`${path} has nothing like ${pattern}`);
  return text;
}

const minutes = (ms: number): string => (ms === MINUTE_MS ? 'a minute' : `${ms / MINUTE_MS} minutes`);
const days = (ms: number): string => `${ms / DAY_MS} days`;

const housekeepingMs = numberIn('apps/metering/src/days/housekeeping.ts', 'EVERY_MS');
/** By then limiters with a slow clock refuse the key, too. */
const pageKeySlackMinutes = Number(
  textIn(
    'packages/db/prisma/migrations/20261125000030_page_keys/migration.sql',
    /expires_at < CURRENT_TIMESTAMP - interval '(\d+) minute'/,
  ),
);
const pageKeyMs =
  numberIn('packages/control/src/keys/page.ts', 'LIFE_MS') + pageKeySlackMinutes * MINUTE_MS + housekeepingMs;
const attemptMs = Math.max(
  ...readdirSync(join(ROOT, AUTH))
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => ['windowMs', '_REMEMBERED_MS'].flatMap((name) => numbersIn(`${AUTH}/${file}`, name))),
);

/**
 * The figures of the rows that begin with these words, in their order. Every other row has none.
 */
const FIGURES: Readonly<Record<string, readonly string[]>> = {
  'a row for each request': [`${KEPT_DAYS.requests} days`],
  'usage by hour': [`${KEPT_DAYS.usageHours} days`],
  'counts of refused requests': [`${KEPT_DAYS.refusals} days`],
  'who has Try it open': [minutes(pageKeyMs)],
  "a model's conditions": [`${KEPT_CONDITIONS.days} days`, `last ${KEPT_CONDITIONS.changes}`],
  sessions: [days(numberIn(`${AUTH}/auth.ts`, 'expiresIn') * 1_000)],
  'in the browser': [days(numberIn(`${AUTH}/devices.ts`, 'LASTS_S') * 1_000)],
  'steps of signing in': [minutes(numberIn(`${AUTH}/auth.ts`, 'SECOND_STEP_S') * 1_000)],
  invitations: [days(numberIn('packages/control/src/invitations/invitations.ts', 'VALID_MS'))],
  'attempts to sign in': [minutes(attemptMs)],
  'addresses that sent invalid keys': [minutes(WINDOW_MS), minutes(LIMITS.invalidKeyBlockMs)],
  'audit events': [textIn('apps/metering/src/config.ts', /AUDIT_KEEP_DAYS:[^;]*?\.default\((\d+)\)/)],
};
const FIGURE = /\blast \d+|\b\d+ (?:minutes|hours|days)|\ba (?:minute|hour|day)\b|(?<!-)\/?\b\d+\b/g;

const [, table = '', ...paragraphs] = page
  .slice(page.indexOf('## What is kept, and for how long'))
  .split('\n\n');
const rows = table
  .split('\n')
  .slice(2)
  .map((row) => row.split('|').map((cell) => cell.trim()))
  .map(([, what = '', kept = '']) => ({ what, kept }));

describe('docs/privacy.md', () => {
  it.each(Object.keys(FIGURES))('has one row that begins with "%s"', (begin) => {
    expect(rows.filter(({ what }) => what.startsWith(begin))).toHaveLength(1);
  });

  it('says how long the code keeps everything that is kept', () => {
    const figuresOf = (row: string) =>
      Object.entries(FIGURES).find(([begin]) => row.startsWith(begin))?.[1] ?? [];
    expect(rows.map(({ what, kept }) => [what, kept.match(FIGURE) ?? []])).toEqual(
      rows.map(({ what }) => [what, figuresOf(what)]),
    );
  });

  it('explains it with the figures of the code', () => {
    const networks = 'packages/control/src/account/events.ts';
    const marker = numberIn('apps/limiter/src/lua/withdrawn.lua', 'UNJOINED_TTL_S') * 1_000;
    expect(
      paragraphs
        .join('\n')
        .replace(/\bten\b/g, '10')
        .match(FIGURE),
    ).toEqual([
      `${Math.max(KEPT_DAYS.requests, KEPT_DAYS.refusals) + 1} days`,
      minutes(housekeepingMs),
      textIn(networks, /\.0(\/\d+)`/),
      textIn(networks, /::(\/\d+)`/),
      minutes(marker),
      minutes(housekeepingMs),
    ]);
  });

  it('says the same of conditions as the console', () => {
    const [age, most] = FIGURES["a model's conditions"] ?? [];
    expect(read('apps/console/src/models/model-screen.tsx')).toContain(
      `the ${most} changes, going back at most ${age}`,
    );
    expect(read('apps/console/src/models/history-table.tsx')).toContain(`in the last ${age}`);
  });
});
