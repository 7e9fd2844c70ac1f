import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import { closeDb, createDb, type Db } from './client.ts';
import { dropOldRequestPartitions, ensureRequestPartitions, listRequestPartitions } from './partitions.ts';

let server: TestPostgres;
let db: Db;

beforeEach(async () => {
  server = await testPostgres();
  db = createDb(server.url, PATIENT_DB);
});
afterEach(async () => {
  await closeDb(db);
  await server.drop();
});

function insert(day: string, reservationId: string): Promise<unknown> {
  const reservedAt = new Date(`${day}T23:59:59.999Z`);
  const row = { reservationId, day: new Date(day), orgId: 'o', keyId: 'k', modelId: 'm', reservedAt };
  return db.request.create({
    data: { ...row, answered: true, streamed: false, reservedTokens: 9, chargedTokens: 9 },
  });
}

describe('partitions of request', () => {
  it('must exist before rows: a row of a day that has none is refused', async () => {
    await ensureRequestPartitions(db, ['2026-11-21']);
    await insert('2026-11-21', 'a');
    await expect(insert('2026-11-22', 'b')).rejects.toThrow('no partition');
  });

  it('are created once each, across a year and a leap day, even by concurrent callers', async () => {
    const days = ['2028-02-29', '2026-12-31', '2027-01-01', '2028-02-28', '2028-03-01'];
    const made = await Promise.all([1, 2, 3].map(() => ensureRequestPartitions(db, days)));
    expect(made.flat().sort()).toEqual([...days].sort());
    expect(await ensureRequestPartitions(db, days)).toEqual([]);
    for (const day of days) await insert(day, day);
    expect(await db.request.count()).toBe(days.length);
  });

  it('keep one reservation id to one row a day', async () => {
    await ensureRequestPartitions(db, ['2026-11-21']);
    await insert('2026-11-21', 'a');
    await expect(insert('2026-11-21', 'a')).rejects.toThrow('Unique constraint');
  });

  it('refuse a charge above the reservation', async () => {
    await ensureRequestPartitions(db, ['2026-11-21']);
    const update = { reservedTokens: 5 };
    await insert('2026-11-21', 'a');
    await expect(db.request.updateMany({ data: update })).rejects.toThrow('request_charge_check');
  });

  it('are dropped with their rows before the given day; that day and later ones stay', async () => {
    const days = ['2026-10-16', '2026-10-17', '2026-10-18'];
    await ensureRequestPartitions(db, days);
    for (const day of days) await insert(day, day);
    expect(await dropOldRequestPartitions(db, '2026-10-17')).toEqual(['2026-10-16']);
    expect(await listRequestPartitions(db)).toEqual(['2026-10-17', '2026-10-18']);
    expect(await db.request.count()).toBe(2);
    expect(await dropOldRequestPartitions(db, '2026-10-17')).toEqual([]);
  });

  it.each(['2026-02-30', '2026-1-1', "2026-11-21'; DROP TABLE org; --", ''])(
    'refuse %j as a day',
    async (day) => {
      await expect(ensureRequestPartitions(db, [day])).rejects.toThrow(RangeError);
      await expect(dropOldRequestPartitions(db, day)).rejects.toThrow(RangeError);
    },
  );
});
