import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Settlement, toQueued } from '@tidegate/contracts';
import { closeDb, createDb, type Db, ensureRequestPartitions } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import {
  eventually,
  PATIENT_DB,
  type TestPostgres,
  testPostgres,
  untilOneWaitsForALock,
} from '@tidegate/testing';
import fc from 'fast-check';
import { failure, readWrittenUsage, settlement } from '../testing/fixture.ts';
import { parseBatch } from './parse.ts';
import { parametersOf, WRITE, writeSettlements } from './write.ts';
import { SettlementWriter } from './writer.ts';

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
beforeEach(async () => {
  await db.$executeRaw`TRUNCATE request, usage_day, usage_hour, usage_time, month_total`;
});

async function write(settlements: readonly Settlement[]): Promise<number> {
  await ensureRequestPartitions(
    db,
    settlements.map(({ reservedAtMs }) => dayOf(reservedAtMs)),
  );
  return writeSettlements(db, settlements);
}

/** Creates the keys that settlements name. */
async function createKeys(orgId: string, settlements: readonly Settlement[]): Promise<void> {
  const limits = { allModels: true, requestsPerMinute: 1, requestsAtOnce: 1 };
  await db.apiKey.createMany({
    data: settlements.map(({ keyId }, i) => ({
      id: keyId,
      orgId,
      name: 'k',
      prefix: `ti_${i}`,
      hash: randomBytes(32),
      ...limits,
    })),
  });
}

const BATCH = 200;

/** A node of a plan, as Postgres explains it. */
interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const allNodes = (node: PlanNode | undefined): readonly PlanNode[] =>
  node ? [node, ...(node.Plans ?? []).flatMap(allNodes)] : [];

const rowsLookedAt = (node: PlanNode): number =>
  node['Actual Loops'] *
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0));

describe('writing', () => {
  it('counts a settlement once, however often it is in a batch and in later ones', async () => {
    const one = settlement();
    const two = failure({ orgId: one.orgId, keyId: one.keyId, modelId: one.modelId });
    expect(await write([one, one, two])).toBe(2);
    expect(await write([two, one])).toBe(0);
    const usage = await readWrittenUsage(db);
    expect(usage.rollup).toMatchObject([
      {
        requests: '2',
        errors: '1',
        prompt: '10',
        completion: '5',
        unreported: '4096',
        ms: '100',
        timed: '1',
      },
    ]);
    expect(usage.months).toMatchObject([{ month: '2026-11', requests: '2', charged: '4111' }]);
  });

  it('uses the day and month of the reservation in UTC, whatever the time zone of the session [plan.months] [plan.settlement.month]', async () => {
    const last = settlement({ reservedAtMs: Date.UTC(2026, 10, 30, 23, 59, 59, 999), durationMs: 600_000 });
    const first = settlement({ orgId: last.orgId, reservedAtMs: Date.UTC(2026, 11, 1) });
    await ensureRequestPartitions(db, ['2026-11-30', '2026-12-01']);
    const url = new URL(postgres.url);
    url.searchParams.set('options', '-c TimeZone=Pacific/Kiritimati');
    const elsewhere = createDb(url.href, PATIENT_DB);
    await writeSettlements(elsewhere, [first, last]);
    await closeDb(elsewhere);
    const usage = await readWrittenUsage(db);
    expect(usage.months).toMatchObject([
      { month: '2026-11', requests: '1' },
      { month: '2026-12', requests: '1' },
    ]);
    expect(usage.rollup.map((row) => (row as { step: string }).step).sort()).toEqual([
      '2026-11-30',
      '2026-12-01',
    ]);
    const row = await db.request.findFirstOrThrow({ where: { reservationId: last.reservationId } });
    expect(row.reservedAt.getTime()).toBe(last.reservedAtMs);
  });

  it('keeps the time of the first chunk, and takes settlements without one', async () => {
    const streamed = settlement({ streamed: true, firstChunkMs: 42 });
    const { firstChunkMs: _, ...older } = toQueued(settlement());
    const { settlements, invalid } = parseBatch(
      { settlements: [toQueued(streamed), older] },
      Date.UTC(2026, 10, 21, 13),
    );
    expect(invalid).toEqual([]);
    expect(await write(settlements)).toBe(2);
    const rows = await db.request.findMany({ select: { reservationId: true, firstChunkMs: true } });
    const kept = new Map(rows.map((row) => [row.reservationId, row.firstChunkMs]));
    expect(kept.get(streamed.reservationId)).toBe(42);
    expect(kept.get(older.reservationId)).toBeNull();
  });

  it('writes all that a settlement says into its row, for answers and for errors, whatever its text', async () => {
    const codes = ['client_closed', 'NULL', '{"a",\\b}', "it's ü, \n"];
    const failures = codes.map((errorCode) => failure({ errorCode }));
    const all = [settlement({ streamed: true, firstChunkMs: 7 }), ...failures];
    await write(all);
    const rows = await db.request.findMany();
    const said = all.map(({ outboxId: _, reservedAtMs, ...settlement }) => ({
      ...settlement,
      reservedAt: new Date(reservedAtMs),
      day: new Date(Date.UTC(2026, 10, 21)),
    }));
    expect(rows).toHaveLength(said.length);
    expect(rows).toEqual(expect.arrayContaining(said));
  });

  it('looks at rows in proportion to the batch, even when each is for another key', async () => {
    const orgId = 'org_0000000many0';
    await db.org.create({ data: { id: orgId, slug: 'many', name: 'Many', planId: 'plan_free' } });
    const settlements = Array.from({ length: BATCH }, () => settlement({ orgId }));
    await createKeys(orgId, settlements);
    await ensureRequestPartitions(db, [dayOf(settlements[0]?.reservedAtMs ?? 0)]);
    const [explained] = await db.$queryRawUnsafe<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${WRITE}`,
      ...parametersOf(settlements),
    );
    const nodes = allNodes(explained?.['QUERY PLAN'][0].Plan);
    expect(nodes.length).toBeGreaterThan(10);
    expect(Math.max(...nodes.map(rowsLookedAt))).toBeLessThanOrEqual(2 * BATCH);
  });

  it('moves the last use of a key only forward [key.list.last-used]', async () => {
    const org = await db.org.create({
      data: { id: 'org_0000000used0', slug: 'use', name: 'Use', planId: 'plan_free' },
    });
    const limits = { allModels: true, requestsPerMinute: 60, requestsAtOnce: 4 };
    const hash = new Uint8Array(32);
    await db.apiKey.create({
      data: { id: 'key_use', orgId: org.id, name: 'k', prefix: 'ti_abc', hash, ...limits },
    });
    const at = (minute: number) =>
      settlement({ orgId: org.id, keyId: 'key_use', reservedAtMs: Date.UTC(2026, 10, 21, 12, minute) });
    await write([at(4), at(5), at(2)]);
    await write([at(3)]);
    const key = await db.apiKey.findUniqueOrThrow({ where: { id: 'key_use' } });
    expect(key.lastUsedAt?.toISOString()).toBe('2026-11-21T12:05:00.000Z');
  });

  it('locks keys in the order of their ids, so that concurrent writers cannot deadlock', async () => {
    const orgId = 'org_0000000lock0';
    await db.org.create({ data: { id: orgId, slug: 'lock', name: 'Lock', planId: 'plan_free' } });
    const settlements = Array.from({ length: 20 }, () => settlement({ orgId }));
    await createKeys(orgId, settlements);
    const [lowest, ...others] = settlements.map(({ keyId }) => keyId).sort();
    await ensureRequestPartitions(db, [dayOf(settlements[0]?.reservedAtMs ?? 0)]);
    let written: Promise<number> | undefined;
    await db.$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT 1 FROM api_key WHERE id = ${lowest} FOR UPDATE`;
        written = writeSettlements(db, settlements);
        await untilOneWaitsForALock(db);
        const free = await tx.$queryRaw<unknown[]>`
          SELECT id FROM api_key WHERE id = ANY(${others}) FOR UPDATE SKIP LOCKED`;
        expect(free).toHaveLength(others.length);
      },
      { timeout: 60_000 },
    );
    expect(await written).toBe(settlements.length);
  });

  it('drops settlements of a deleted organization, however late they come', async () => {
    const gone = settlement();
    const kept = settlement();
    await db.deletedOrg.create({ data: { orgId: gone.orgId, deletedBy: 'operator' } });
    expect(await write([gone, kept])).toBe(1);
    expect((await readWrittenUsage(db)).months).toMatchObject([{ requests: '1' }]);
    expect(await db.request.findMany({ select: { orgId: true } })).toEqual([{ orgId: kept.orgId }]);
  });

  it('keeps rollups equal to rows, for any settlements in any order, batches and repetition, with concurrent writers', async () => {
    const some = fc.constantFrom('a', 'b', 'c');
    const arbitrary = fc.record({
      id: fc.integer({ min: 0, max: 40 }),
      org: some,
      key: some,
      model: some,
      hour: fc.integer({ min: 0, max: 47 }),
      answered: fc.boolean(),
      prompt: fc.integer({ min: 0, max: 2_000 }),
      timed: fc.boolean(),
    });
    const make = (a: {
      id: number;
      org: string;
      key: string;
      model: string;
      hour: number;
      answered: boolean;
      prompt: number;
      timed: boolean;
    }) => {
      const ids = { reservationId: `r${a.id}`, orgId: a.org, keyId: a.key, modelId: a.model };
      const reservedAtMs = Date.UTC(2026, 10, 30, a.hour);
      const durationMs = a.timed ? a.prompt * a.id : null;
      const firstChunkMs = a.timed && a.hour % 2 === 0 ? a.prompt : null;
      return a.answered
        ? settlement({
            ...ids,
            reservedAtMs,
            durationMs,
            firstChunkMs,
            promptTokens: a.prompt,
            chargedTokens: a.prompt + 5,
          })
        : failure({ ...ids, reservedAtMs, durationMs });
    };
    await ensureRequestPartitions(db, ['2026-11-30', '2026-12-01']);
    const plan = fc.tuple(
      fc.uniqueArray(arbitrary, { selector: (a) => a.id, maxLength: 40 }),
      fc.array(fc.array(fc.nat(), { maxLength: 30 }), { minLength: 1, maxLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(plan, async ([all, batches]) => {
        await db.$executeRaw`TRUNCATE request, usage_day, usage_hour, usage_time, month_total`;
        const settlements = all.map(make);
        const picked = batches.map((indexes) =>
          settlements.length === 0
            ? []
            : indexes.map((i) => settlements[i % settlements.length] as Settlement),
        );
        await Promise.all(
          [...picked, settlements, [...settlements].reverse()].map((batch) => writeSettlements(db, batch)),
        );
        const usage = await readWrittenUsage(db);
        expect(usage.rows).toBe(settlements.length);
        expect(usage.rollup).toEqual(usage.fromRows);
        expect(usage.hours).toEqual(usage.hoursFromRows);
        expect(usage.times).toEqual(usage.timesFromRows);
        expect(usage.months).toEqual(usage.monthsFromRows);
      }),
      { numRuns: 40 },
    );
  });
});

describe('group commit', () => {
  const writer = () => {
    const groups: number[] = [];
    return {
      groups,
      writer: new SettlementWriter({
        maxRows: 250,
        monotonicMs: () => 0,
        commit: write,
        onCommit: (settlements) => groups.push(settlements.length),
      }),
    };
  };

  it('writes concurrent batches in one transaction, up to its size', async () => {
    const { groups, writer: group } = writer();
    const batch = () => Array.from({ length: 100 }, () => settlement());
    await Promise.all([
      group.write(batch()),
      group.write(batch()),
      group.write(batch()),
      group.write(batch()),
    ]);
    expect(groups).toEqual([200, 200]);
    expect((await readWrittenUsage(db)).rows).toBe(400);
  });

  it('fills a transaction to exactly its size, and writes a larger batch by itself', async () => {
    const { groups, writer: group } = writer();
    const batch = (length: number) => Array.from({ length }, () => settlement());
    await Promise.all([125, 125, 251, 1].map((length) => group.write(batch(length))));
    expect(groups).toEqual([250, 251, 1]);
  });

  it('runs one transaction at a time, and the next with all that came in the meantime', async () => {
    const running: { readonly rows: number; readonly end: (fresh: number) => void }[] = [];
    const group = new SettlementWriter({
      maxRows: 250,
      monotonicMs: () => 0,
      commit: ({ length: rows }) => new Promise((end) => running.push({ rows, end })),
      onCommit: () => undefined,
    });
    const written = [group.write([settlement()])];
    await eventually(() => running.length > 0);
    written.push(group.write([settlement()]), group.write([settlement()]));
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(running.map(({ rows }) => rows)).toEqual([1]);
    running[0]?.end(1);
    await eventually(() => running.length > 1);
    running[1]?.end(2);
    await Promise.all(written);
    expect(running.map(({ rows }) => rows)).toEqual([1, 2]);
  });

  it('commits everything except what Postgres refuses as data, and returns the refused settlements', async () => {
    const { writer: group } = writer();
    const bad = settlement({ chargedTokens: 99_999 });
    const [mine, others] = await Promise.all([
      group.write([settlement(), bad, settlement()]),
      group.write([settlement()]),
    ]);
    expect(mine.map(({ data }) => data)).toEqual([bad]);
    expect(others).toEqual([]);
    expect((await readWrittenUsage(db)).rows).toBe(3);
  });

  it('finds what Postgres refuses by halving: one of 128 costs 15 statements', async () => {
    let statements = 0;
    const group = new SettlementWriter({
      maxRows: 250,
      monotonicMs: () => 0,
      commit: (settlements) => {
        statements += 1;
        return write(settlements);
      },
      onCommit: () => undefined,
    });
    const all = Array.from({ length: 128 }, (_, i) => settlement(i === 77 ? { chargedTokens: 99_999 } : {}));
    expect((await group.write(all)).map(({ data }) => data)).toEqual([all[77]]);
    expect(statements).toBe(15);
  });

  it('rejects the whole group when Postgres cannot be reached, and works again afterwards', async () => {
    let unavailable = true;
    const group = new SettlementWriter({
      maxRows: 250,
      monotonicMs: () => 0,
      commit: (settlements) => (unavailable ? Promise.reject(new Error('unavailable')) : write(settlements)),
      onCommit: () => undefined,
    });
    const one = settlement();
    await expect(group.write([one])).rejects.toThrow('unavailable');
    unavailable = false;
    expect(await group.write([one])).toEqual([]);
    expect((await readWrittenUsage(db)).rows).toBe(1);
  });
});
