import { beforeAll, describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import fc from 'fast-check';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
import { histogramFrom, percentilesOf, together } from './histogram.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12, 34);

const db = ownTestDb();
let fixture: Fixture;
let org: string;
let orgId: string;
const clock = testClock();

beforeAll(async () => {
  fixture = createFixture(db(), clock.now);
  clock.set(NOW_MS);
  org = await fixture.org('Hours');
  orgId = (await db().org.findUniqueOrThrow({ where: { slug: org } })).id;
});

/** Inserts an hour of one key and one model, with the histograms of these times. */
async function hour(hourMs: number, keyId: string, modelId: string, times: number[], errors = 0) {
  const at = new Date(hourMs);
  await db().$executeRaw`
    INSERT INTO usage_hour
    SELECT ${orgId}, ${at}, ${keyId}, ${modelId}, count(*), ${errors}::int, 0, 0, 0, sum(ms), count(ms)
    FROM unnest(${times}::int[]) ms`;
  await db().$executeRaw`
    INSERT INTO usage_time
    SELECT ${orgId}, 'hour', ${at}, ${modelId}, sum(histogram_of(ms)), sum(histogram_of(ms / 10))
    FROM unnest(${times}::int[]) ms`;
}

describe('usage by the hour', () => {
  const HOUR_MS = 3_600_000;
  const thisHour = Date.UTC(2026, 10, 21, 12);

  it('has the last hours including this one, in UTC, counts and percentiles by model, and restricts them', async () => {
    await hour(thisHour, 'key_a', 'mdl_x', [100, 200, 1_000], 1);
    await hour(thisHour - 23 * HOUR_MS, 'key_b', 'mdl_x', [5_000]);
    await hour(thisHour - 23 * HOUR_MS, 'key_a', 'mdl_y', [40, 40]);
    await hour(thisHour - 24 * HOUR_MS, 'key_a', 'mdl_y', [7]);
    const show = async (more = {}) => value(await fixture.control.showUsage(OPERATOR, { org, ...more }));
    const day = await show({ hours: 24 });
    expect(day.days).toEqual([]);
    expect(day.hours).toHaveLength(24);
    expect(day.hours[0]).toMatchObject({ hour: '2026-11-20T13:00:00.000Z', requests: 3, answered: 3 });
    expect(day.hours.at(-1)).toMatchObject({ hour: '2026-11-21T12:00:00.000Z', answered: 2, errors: 1 });
    expect(day.totals).toMatchObject({ requests: 6, errors: 1, averageMs: 1_063 });
    expect(day.models.map(({ modelId, requests }) => [modelId, requests])).toEqual([
      ['mdl_x', 4],
      ['mdl_y', 2],
    ]);
    expect(day.models[0]?.p50Ms).toBeGreaterThan(190);
    expect(day.models[0]?.p50Ms).toBeLessThan(210);
    expect(day.models[0]?.p95Ms).toBeGreaterThan(4_750);
    expect(day.models[0]?.p95Ms).toBeLessThan(5_250);
    expect(day.models[1]).toMatchObject({ firstChunkP50Ms: 4, firstChunkP95Ms: 4 });
    const ofKey = await show({ hours: 24, keyId: 'key_b' });
    expect(ofKey.models).toMatchObject([{ modelId: 'mdl_x', requests: 1 }]);
    expect([ofKey.totals.p50Ms, ofKey.models[0]?.p95Ms]).toEqual([null, null]);
    expect((await show({ hours: 24, modelId: 'mdl_y' })).totals).toMatchObject({ requests: 2, p50Ms: 40 });
    expect((await show({ hours: 1, modelId: 'mdl_y' })).totals.requests).toBe(0);
    expect((await show({ hours: 25 })).totals.requests).toBe(7);
    for (const only of [{}, { keyId: 'key_b' }, { modelId: 'mdl_y' }]) {
      const { models: _m, rows: _r, rowCount: _c, totals, ...rest } = await show({ hours: 24, ...only });
      const brief = await show({ hours: 24, ...only, brief: true });
      const unknown = { p50Ms: null, p95Ms: null, firstChunkP50Ms: null, firstChunkP95Ms: null };
      const times = 'modelId' in only ? {} : unknown;
      expect(brief).toEqual({
        ...rest,
        totals: { ...totals, ...times },
        models: [],
        rows: [],
        rowCount: 0,
      });
    }
  });

  it('covers either days or hours, and at most as many hours as are kept', async () => {
    const told = async (input: object) =>
      refusal(await fixture.control.showUsage(OPERATOR, { org, ...input })).message;
    expect(await told({ days: 1, hours: 1 })).toBe('Give days or hours, not both.');
    expect(await told({ hours: 169 })).toMatch(/^Hours must be .*168/);
  });
});

describe('usage by key and model', () => {
  const DAYS = ['2026-11-19', '2026-11-20', '2026-11-21'];
  /** Page keys are one row for each model. */
  const KEYS = ['key_a', 'key_b', 'key_c', 'key_page_1', 'key_page_2'];
  const MODELS = ['mdl_x', 'mdl_y', 'mdl_z'];
  const places = DAYS.flatMap((day) => KEYS.flatMap((key) => MODELS.map((model) => [day, key, model])));
  const count = fc.integer({ min: 0, max: 3 });
  /** Small, so that many pairs are equally busy. */
  const sums = fc.tuple(count, count, count, count, count, count);
  const used = fc.array(fc.option(sums), { minLength: places.length, maxLength: places.length });
  const SUMS = ['requests', 'errors', 'promptTokens', 'completionTokens', 'reservedTokens'] as const;
  const sumOf = (all: readonly Readonly<Record<(typeof SUMS)[number], number>>[]) =>
    SUMS.map((name) => all.reduce((sum, one) => sum + one[name], 0));

  async function store(counts: readonly ([number, number, number, number, number, number] | null)[]) {
    const rows = counts.flatMap((sum, i) => {
      const [day = '', keyId = '', modelId = ''] = places[i] ?? [];
      if (sum === null) return [];
      const [errors, promptTokens, completionTokens, unreportedTokens, durationMsSum, more] = sum;
      const requests = errors + more + 1;
      const tokens = { promptTokens, completionTokens, unreportedTokens };
      const of = { orgId: pairsOrgId, day: new Date(day), keyId, modelId };
      return [{ ...of, ...tokens, requests, errors, durationMsSum, durationCount: requests }];
    });
    await db().usageDay.deleteMany({ where: { orgId: pairsOrgId } });
    await db().usageDay.createMany({ data: rows });
  }
  let pairsOrg: string;
  let pairsOrgId: string;
  beforeAll(async () => {
    pairsOrg = await fixture.org('Pairs');
    pairsOrgId = (await db().org.findUniqueOrThrow({ where: { slug: pairsOrg } })).id;
  });
  const show = async (more = {}) =>
    value(await fixture.control.showUsage(OPERATOR, { org: pairsOrg, ...more }));

  it('adds up to its totals, its days and its models, whatever is chosen', async () => {
    const choice = fc.record({
      keyId: fc.option(fc.constantFrom('key_a', 'key_page'), { nil: undefined }),
      modelId: fc.option(fc.constantFrom(...MODELS), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(used, choice, async (counts, chosen) => {
        await store(counts);
        const usage = await show(chosen);
        for (const parts of [usage.days, usage.models, usage.rows])
          expect(sumOf(parts)).toEqual(sumOf([usage.totals]));
        const everything = await show();
        expect(usage.rows).toEqual(
          everything.rows.filter(
            ({ keyId, modelId }) =>
              keyId === (chosen.keyId ?? keyId) && modelId === (chosen.modelId ?? modelId),
          ),
        );
        for (const { modelId, averageMs, requests } of usage.models) {
          const own = usage.rows.filter((row) => row.modelId === modelId);
          expect(sumOf(own)[0]).toBe(requests);
          if (own.length === 1) expect(averageMs).toBe(own[0]?.averageMs);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('fails instead of returning a wrong number if a sum is too large to represent', async () => {
    const of = { orgId: pairsOrgId, keyId: 'key_a', modelId: 'mdl_x', errors: 0n, durationMsSum: 0n };
    const tokens = { completionTokens: 0n, unreportedTokens: 0n, durationCount: 0n };
    const rowsWith = (promptTokens: bigint) =>
      DAYS.map((day) => ({ ...of, ...tokens, promptTokens, day: new Date(day), requests: 1n }));
    // First the sum is too large for Postgres, then only for a JavaScript number.
    for (const tokens of [2n ** 62n, 2n ** 53n / 3n + 1n]) {
      await db().usageDay.deleteMany({ where: { orgId: pairsOrgId } });
      await db().usageDay.createMany({ data: rowsWith(tokens) });
      await expect(show()).rejects.toThrow('out of range');
    }
    await db().usageDay.deleteMany({ where: { orgId: pairsOrgId } });
    await db().usageDay.createMany({ data: rowsWith(2n ** 62n / 2_000n) });
    expect((await show()).totals.promptTokens).toBe(Number((2n ** 62n / 2_000n) * 3n));
  });

  it('is shown however many keys and models there were', async () => {
    await db().usageDay.deleteMany({ where: { orgId: pairsOrgId } });
    await db().$executeRaw`
      INSERT INTO usage_day SELECT ${pairsOrgId}, '2026-11-21', 'key_' || i, 'mdl_x', 1, 0, 1, 1, 0, 1, 1
      FROM generate_series(1, 150000) i`;
    const { rows, rowCount } = await show();
    expect([rows.length, rowCount]).toEqual([150_000, 150_000]);
  });

  it('comes busiest first and always in the same order; the first rows are the same however many are asked for', async () => {
    await fc.assert(
      fc.asyncProperty(used, fc.integer({ min: 1, max: 20 }), async (counts, maxRows) => {
        await store(counts);
        const { rows, rowCount, ...rest } = await show();
        const order = (row: (typeof rows)[number]) =>
          [1_000 - row.requests, 1_000 - row.promptTokens - row.completionTokens]
            .map((place) => String(place).padStart(4, '0'))
            .concat(row.keyId, row.modelId)
            .join(' ');
        expect(rows.map(order)).toEqual(rows.map(order).sort());
        expect(new Set(rows.map(({ keyId, modelId }) => keyId + modelId)).size).toBe(rowCount);
        expect(rows).toHaveLength(rowCount);
        expect(await show({ maxRows })).toEqual({ ...rest, rows: rows.slice(0, maxRows), rowCount });
      }),
      { numRuns: 25 },
    );
  });
});

describe('percentiles', () => {
  it('are within 5 % of the exact ones, rounded to a millisecond, however requests are spread over rows', async () => {
    const exact = (sorted: readonly number[], share: number) =>
      sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
    const times = fc.array(fc.oneof(fc.nat(20), fc.nat(2_000), fc.nat(3_600_000)), {
      minLength: 1,
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(times, fc.nat(60), async (all, cut) => {
        const parts = [all.slice(0, cut), all.slice(cut)];
        const sums = await Promise.all(
          parts.map(async (part) => {
            const [row] = await db().$queryRaw<{ sum: string | null }[]>`
              SELECT sum(histogram_of(ms))::text AS sum FROM unnest(${part}::int[]) ms`;
            return histogramFrom(row?.sum ?? null);
          }),
        );
        const { p50Ms, p95Ms } = percentilesOf(together(sums));
        const sorted = all.map((ms) => Math.max(1, ms)).sort((a, b) => a - b);
        for (const [told, share] of [[p50Ms, 0.5] as const, [p95Ms, 0.95] as const]) {
          const real = exact(sorted, share);
          expect(Math.abs((told ?? 0) - real)).toBeLessThanOrEqual(real * 0.05 + 0.5);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('of unknown times are unknown', async () => {
    const [row] = await db().$queryRaw<{ sum: string | null; with: string | null }[]>`
      SELECT sum(histogram_of(ms))::text AS sum, sum(histogram_of(coalesce(ms, n)))::text AS "with"
      FROM (VALUES (NULL::int, NULL::int), (NULL, 0)) AS times(ms, n)`;
    expect(percentilesOf(histogramFrom(row?.sum ?? null))).toEqual({ p50Ms: null, p95Ms: null });
    expect(percentilesOf(histogramFrom(row?.with ?? null))).toEqual({ p50Ms: 1, p95Ms: 1 });
  });
});
