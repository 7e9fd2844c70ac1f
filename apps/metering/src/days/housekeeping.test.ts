import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  newKeyId,
  newOrgId,
  newPlanId,
  SETTLEMENT_JOB,
  SETTLEMENT_QUEUE,
  type SettlementBatch,
  settlementQueuePrefix,
  toQueued,
} from '@tidegate/contracts';
import { ensureRequestPartitions } from '@tidegate/db';
import { createRedisClient, type RedisClient } from '@tidegate/redis';
import { createLogger } from '@tidegate/runtime';
import { eventually, type TestRedis, testRedis, untilOneWaitsForALock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { openSettlementJobs, type SettlementJobs } from '../queue/settlement-jobs.ts';
import { writeSettlements } from '../settlements/write.ts';
import { readWrittenUsage, settlement } from '../testing/fixture.ts';
import { Housekeeping } from './housekeeping.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const dayBefore = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
/** Their hours are kept, whenever the tests run. */
const DAYS = [dayBefore(3), dayBefore(2)] as const;
const [, DAY] = DAYS;

const db = ownTestDb();
let redis: TestRedis;
let connection: RedisClient;
let queue: Queue<SettlementBatch>;
let jobs: SettlementJobs;

beforeAll(async () => {
  await ensureRequestPartitions(db(), DAYS);
  redis = await testRedis();
  connection = createRedisClient(redis.url, { maxRetriesPerRequest: null });
  queue = new Queue(SETTLEMENT_QUEUE, { prefix: settlementQueuePrefix('tg:'), connection });
  jobs = openSettlementJobs({
    redisUrl: redis.url,
    redisPrefix: 'tg:',
    answerTimeoutMs: 60_000,
    onError: () => {},
  });
  await eventually(() => jobs.counts());
});
afterAll(async () => {
  await jobs.close();
  await queue.close();
  connection.disconnect();
  await redis.stop();
});

const housekeeping = (logger = createLogger({ service: 'metering', level: 'silent' })) =>
  new Housekeeping({ db: db(), queue: jobs, logger, auditKeepDays: 30 });
const ofDay = (orgId: string, day: string) => settlement({ orgId, reservedAtMs: Date.parse(day) });

async function makeOrg(): Promise<string> {
  const [planId, id] = [newPlanId(), newOrgId()];
  await db()
    .$executeRaw`INSERT INTO plan VALUES (${planId}, ${planId}, 9, 1, 1, 1, 1, 1, false, now(), now())`;
  await db().org.create({ data: { id, slug: id.toLowerCase(), name: id, planId } });
  return id;
}
/** True if something is waiting to lock the table of months. */
async function monthsAwaited(): Promise<boolean> {
  const [row] = await db().$queryRaw<{ waits: boolean }[]>`
    SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'month_total'::regclass) AS waits`;
  return row?.waits ?? false;
}
const deleteOrg = (orgId: string) => db().$queryRaw`SELECT delete_organization(${orgId}, 'operator')`;

describe('settlements of a deleted organization', () => {
  it('are dropped when they come late, and those of others are not', async () => {
    const [gone, stays] = [await makeOrg(), await makeOrg()];
    await deleteOrg(gone);
    expect(await writeSettlements(db(), [ofDay(gone, DAY), ofDay(stays, DAY)])).toBe(1);
    const usage = JSON.stringify(await readWrittenUsage(db()));
    expect(usage).toContain(stays);
    expect(usage).not.toContain(gone);
  });

  it('are removed from the dead letters, and those of others stay', async () => {
    const [gone, stays] = [await makeOrg(), await makeOrg()];
    const [of, ofOther] = [gone, stays].map((orgId) => toQueued(ofDay(orgId, DAY)));
    const malformed = { orgId: gone, tokens: 'many' };
    const batches: Record<string, unknown[]> = {
      ofDeleted: [of, malformed],
      ofBoth: [of, ofOther, 'no settlement'],
      ofOther: [ofOther],
      ofNobody: [],
    };
    for (const [jobId, settlements] of Object.entries(batches))
      await queue.add(SETTLEMENT_JOB, { settlements, traces: {} } as SettlementBatch, { jobId });
    const fail = async () => {
      throw new UnrecoverableError('never');
    };
    const worker = new Worker(SETTLEMENT_QUEUE, fail, {
      prefix: settlementQueuePrefix('tg:'),
      connection: { url: redis.url },
    });
    await eventually(async () => (await queue.getFailedCount()) === Object.keys(batches).length);
    await worker.close();
    await deleteOrg(gone);

    await housekeeping().run();

    const left = Object.fromEntries((await queue.getFailed()).map((job) => [job.id, job.data]));
    expect(left).toEqual({
      ofBoth: { settlements: [ofOther, 'no settlement'], traces: {} },
      ofOther: { settlements: [ofOther], traces: {} },
      ofNobody: { settlements: [], traces: {} },
    });
  });

  it('that are being written while it is deleted do not outlive it', async () => {
    const orgId = await makeOrg();
    let deleted = false;
    const deletion = await db().$transaction(async (writer) => {
      await writer.$executeRaw`INSERT INTO usage_day VALUES (${orgId}, ${DAY}::date, 'key_x', 'mdl_x', 1, 0, 1, 1, 0, 1, 1)`;
      await writer.$executeRaw`INSERT INTO month_total VALUES (${orgId}, ${DAY.slice(0, 7)}, 1, 2)`;
      const deleting = deleteOrg(orgId).then(() => {
        deleted = true;
      });
      await eventually(monthsAwaited);
      expect(deleted).toBe(false);
      return { deleting };
    });
    await deletion.deleting;
    await housekeeping().run();
    expect(JSON.stringify(await readWrittenUsage(db()))).not.toContain(orgId);
  });
});

describe('usage of a deleted organization', () => {
  it('is deleted to the last day by metering if nothing else has done it, and all other usage is kept', async () => {
    const [gone, stays] = [await makeOrg(), await makeOrg()];
    const settlements = [gone, stays].flatMap((orgId) => DAYS.map((day) => ofDay(orgId, day)));
    await writeSettlements(db(), settlements);
    await deleteOrg(gone);
    await housekeeping().run();
    const usage = await readWrittenUsage(db());
    expect(JSON.stringify(usage)).not.toContain(gone);
    for (const kept of [usage.rollup, usage.hours])
      expect(kept.filter((row) => JSON.stringify(row).includes(stays))).toHaveLength(2);
    expect(usage.times.filter((row) => JSON.stringify(row).includes(stays))).toHaveLength(4);
    expect((await db().deletedOrg.findUniqueOrThrow({ where: { orgId: gone } })).purgedAt).not.toBeNull();
  });

  it('is deleted in statements of at most 10,000 requests, and a day only after its last request', async () => {
    const orgId = await makeOrg();
    await writeSettlements(db(), [ofDay(orgId, DAY)]);
    await db().$executeRaw`
      INSERT INTO request (reservation_id, day, org_id, key_id, model_id, admitted_at, answered, streamed, reserved_tokens, charged_tokens)
      SELECT 'many-' || i, ${DAY}::date, ${orgId}, 'key_x', 'mdl_x', ${DAY}::timestamptz, true, false, 1, 1
      FROM generate_series(1, 10000) i`;
    await deleteOrg(orgId);
    const left = async () => [
      await db().request.count({ where: { orgId } }),
      await db().usageDay.count({ where: { orgId } }),
    ];
    const seen: number[][] = [];
    for (const more of [true, true, false]) {
      expect(await db().$queryRaw`SELECT purge_organization(${orgId}) AS more`).toEqual([{ more }]);
      seen.push(await left());
    }
    expect(seen).toEqual([
      [1, 1],
      [0, 0],
      [0, 0],
    ]);
  });

  it('holds up nothing else when there is much of it, and the rest is deleted soon', async () => {
    const [gone, stays] = [await makeOrg(), await makeOrg()];
    await db().$executeRaw`
      INSERT INTO usage_day SELECT ${gone}, '2020-01-01'::date + i, 'key_x', 'mdl_x', 1, 0, 1, 1, 0, 1, 1
      FROM generate_series(1, 250) i`;
    await deleteOrg(gone);
    const old = {
      action: 'key.create',
      target: 'key_x',
      details: {},
      at: new Date(Date.now() - 31 * DAY_MS),
    };
    await db().auditEvent.create({ data: { id: 'behind much', orgId: stays, actor: 'ctl', ...old } });
    const left = () => db().usageDay.count({ where: { orgId: gone } });
    const keeping = housekeeping();
    await keeping.run();
    expect(await left()).toBe(50);
    expect(await db().auditEvent.count({ where: { id: 'behind much' } })).toBe(0);
    const soonMs = keeping.nextMs;
    await keeping.run();
    expect(await left()).toBe(0);
    expect(keeping.nextMs).toBeGreaterThan(soonMs);
  });
});

describe('audit events', () => {
  it('are deleted after their time, and not before', async () => {
    const orgId = await makeOrg();
    const event = (id: string, days: number, of: string | null = orgId) => ({
      id,
      orgId: of,
      actor: 'ctl',
      action: 'key.create',
      target: 'key_x',
      details: {},
      at: new Date(Date.now() - days * DAY_MS),
    });
    const ofNone = [event('operators', 31, null), event('recent operators', 29, null)];
    await db().auditEvent.createMany({ data: [event('old', 31), event('recent', 29), ...ofNone] });
    await housekeeping().run();
    const kept = await db().auditEvent.findMany({ select: { id: true }, orderBy: { id: 'asc' } });
    expect(kept.map(({ id }) => id)).toEqual(['recent', 'recent operators']);
    await expect(db().$queryRaw`SELECT prune_audit_events(29)`).rejects.toThrow('at least 30 days');
  });
});

describe('refusals', () => {
  it('are deleted after their time, and not before', async () => {
    const [orgId, keyId] = [await makeOrg(), newKeyId()];
    const limits = { requestsPerMinute: 60, requestsAtOnce: 4, allModels: true };
    const key = { id: keyId, orgId, name: 'a', prefix: 'ti_a', hash: new Uint8Array(32), ...limits };
    await db().apiKey.create({ data: key });
    const hourOf = (days: number) => new Date(Math.floor(Date.now() / HOUR_MS - 24 * days) * HOUR_MS);
    const refusal = (days: number) => ({
      orgId,
      keyId,
      modelId: '',
      code: 'invalid_json',
      cause: '',
      refusals: 1n,
      hour: hourOf(days),
    });
    await db().refusalHour.createMany({ data: [refusal(36), refusal(34)] });
    const report = (gatewayId: string, days: number) => ({ gatewayId, sequence: 1, at: hourOf(days) });
    await db().refusalReport.createMany({ data: [report('gw_old', 36), report('gw_new', 34)] });
    await housekeeping().run();
    expect(await db().refusalHour.findMany({ select: { hour: true } })).toEqual([{ hour: hourOf(34) }]);
    const dayOf = (days: number) => new Date(Math.floor(Date.now() / DAY_MS - days) * DAY_MS);
    expect(await db().refusalDay.findMany({ select: { day: true } })).toEqual([{ day: dayOf(34) }]);
    expect(await db().refusalReport.findMany({ select: { gatewayId: true } })).toEqual([
      { gatewayId: 'gw_new' },
    ]);
    await expect(db().$queryRaw`SELECT prune_refusals(30)`).rejects.toThrow('at least 31 days');
  });
});

describe('page keys', () => {
  const make = (orgId: string, name: string, expiresAt: Date | null) => {
    const limits = { requestsPerMinute: 20, requestsAtOnce: 2, allModels: true };
    const [id, hash] = [newKeyId(), randomBytes(32)];
    return db().apiKey.create({ data: { id, orgId, name, prefix: 'ti_a', hash, ...limits, expiresAt } });
  };
  const inMs = (ms: number) => new Date(Date.now() + ms);
  const namesOf = async (orgId: string) =>
    (await db().apiKey.findMany({ where: { orgId }, select: { name: true } })).map(({ name }) => name).sort();

  it('are deleted after their end, and no other keys', async () => {
    const orgId = await makeOrg();
    await make(orgId, 'ended', inMs(-120_000));
    await make(orgId, 'open', inMs(120_000));
    await make(orgId, 'ordinary', null);
    await housekeeping().run();
    expect(await namesOf(orgId)).toEqual(['open', 'ordinary']);
  });

  it('are left to the next run while another transaction has them, so that none waits for the other', async () => {
    const orgId = await makeOrg();
    const held = await make(orgId, 'held', inMs(-120_000));
    await make(orgId, 'free', inMs(-120_000));
    await db().$transaction(async (other) => {
      await other.$queryRaw`SELECT FROM api_key WHERE id = ${held.id} FOR UPDATE`;
      await housekeeping().run();
      expect(await namesOf(orgId)).toEqual(['held']);
    });
    await housekeeping().run();
    expect(await namesOf(orgId)).toEqual([]);
  });

  it('are locked in the order of their ids when their organization is deleted, as writers of their last use do', async () => {
    const orgId = await makeOrg();
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push((await make(orgId, `k${i}`, null)).id);
    const [lowest, ...others] = ids.sort();
    let deleting: Promise<unknown> | undefined;
    await db().$transaction(async (other) => {
      await other.$queryRaw`SELECT FROM api_key WHERE id = ${lowest} FOR UPDATE`;
      deleting = Promise.resolve(deleteOrg(orgId));
      await untilOneWaitsForALock(db());
      const free = await other.$queryRaw<unknown[]>`
        SELECT id FROM api_key WHERE id = ANY(${others}) FOR UPDATE SKIP LOCKED`;
      expect(free).toHaveLength(others.length);
    });
    await deleting;
    expect(await namesOf(orgId)).toEqual([]);
  });
});

describe('usage by the hour', () => {
  const today = () => Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const hoursOf = async (orgId: string) => {
    const { hours, hoursFromRows, times, timesFromRows } = await readWrittenUsage(db());
    const own = (all: readonly unknown[]) => all.filter((row) => JSON.stringify(row).includes(orgId));
    return { hours: own(hours), counted: own(hoursFromRows), times: own(times), timed: own(timesFromRows) };
  };

  it('is counted again where it lacks what an older metering wrote, with the histograms', async () => {
    const [orgId, other] = [await makeOrg(), await makeOrg()];
    const yesterday = today() - DAY_MS;
    await ensureRequestPartitions(db(), [new Date(yesterday).toISOString().slice(0, 10)]);
    const at = (minutes: number) => ({ orgId, reservedAtMs: yesterday + minutes * 60_000 });
    const same = { keyId: 'key_x', modelId: 'mdl_x' };
    const requests = [at(0), at(59), at(60), at(1_439)].map((when) =>
      settlement({ ...when, ...same, streamed: true, firstChunkMs: 9 }),
    );
    await writeSettlements(db(), [...requests, settlement({ ...at(5), orgId: other })]);
    await db().$executeRaw`DELETE FROM usage_hour WHERE org_id = ${orgId} AND hour > ${new Date(yesterday)}`;
    await db().$executeRaw`DELETE FROM usage_time WHERE org_id = ${orgId}`;
    const [lacking, others] = [await hoursOf(orgId), await hoursOf(other)];
    expect(lacking.hours).not.toEqual(lacking.counted);
    await housekeeping().run();
    const whole = await hoursOf(orgId);
    expect(whole.hours).toEqual(whole.counted);
    expect(whole.hours).toHaveLength(3);
    expect(whole.times).toEqual(whole.timed);
    expect(await hoursOf(other)).toEqual(others);
  });

  it('is counted again exactly while settlements are written, and holds up none of them', async () => {
    const orgId = await makeOrg();
    const yesterday = today() - DAY_MS;
    await ensureRequestPartitions(db(), [new Date(yesterday).toISOString().slice(0, 10)]);
    const of = (keyId: string) =>
      settlement({
        orgId,
        keyId,
        modelId: 'mdl_x',
        reservedAtMs: yesterday,
        streamed: true,
        firstChunkMs: 9,
      });
    await writeSettlements(db(), [of('key_a'), of('key_a'), of('key_b'), of('key_c')]);
    await db().$executeRaw`UPDATE usage_hour SET requests = 1 WHERE org_id = ${orgId} AND key_id = 'key_a'`;
    await db().$executeRaw`DELETE FROM usage_hour WHERE org_id = ${orgId} AND key_id = 'key_b'`;
    await db().$executeRaw`DELETE FROM usage_time WHERE org_id = ${orgId}`;
    // Of requests that a restored table of them lacks.
    await db().$executeRaw`
      INSERT INTO usage_hour VALUES (${orgId}, ${new Date(yesterday)}, 'key_gone', 'mdl_x', 5, 1, 1, 1, 0, 1, 1)`;
    let recounting: Promise<unknown> | undefined;
    await db().$transaction(async (other) => {
      await other.$queryRaw`SELECT FROM usage_hour WHERE org_id = ${orgId} AND key_id = 'key_a' FOR UPDATE`;
      recounting = housekeeping().run();
      await untilOneWaitsForALock(db());
      await writeSettlements(db(), [of('key_b'), of('key_d'), ofDay(await makeOrg(), DAY)]);
    });
    await recounting;
    const { hours, counted, times, timed } = await hoursOf(orgId);
    expect(hours).toEqual(counted);
    expect(hours).toHaveLength(4);
    expect(times).toEqual(timed);
  });

  it('is left to the worker that counts it at the moment', async () => {
    const orgId = await makeOrg();
    await writeSettlements(db(), [ofDay(orgId, DAY)]);
    await db().$executeRaw`DELETE FROM usage_hour WHERE org_id = ${orgId}`;
    await db().$transaction(async (other) => {
      await other.$queryRaw`SELECT recount_usage_hour('another', ${new Date(DAY)})`;
      await housekeeping().run();
      expect((await hoursOf(orgId)).hours).toEqual([]);
    });
    await housekeeping().run();
    expect((await hoursOf(orgId)).hours).toHaveLength(1);
  });

  it('that takes too long to count is named and left to a later run, and the rest is counted', async () => {
    const [slow, other] = [await makeOrg(), await makeOrg()];
    await writeSettlements(db(), [ofDay(slow, DAYS[1]), ofDay(other, DAYS[0])]);
    await db().$executeRaw`UPDATE usage_hour SET requests = 7 WHERE org_id = ANY(${[slow, other]})`;
    const lines: Record<string, unknown>[] = [];
    const destination = { write: (line: string) => lines.push(JSON.parse(line)) };
    const keeping = housekeeping(createLogger({ service: 'metering', level: 'warn', destination }));
    let running: Promise<unknown> | undefined;
    await db().$transaction(async (holder) => {
      await holder.$queryRaw`SELECT FROM usage_hour WHERE org_id = ${slow} FOR UPDATE`;
      running = keeping.run();
      await untilOneWaitsForALock(db());
      // Postgres reports the end of a statement's time in the same way.
      await db().$queryRaw`
        SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await running;
    });
    expect(lines).toMatchObject([
      {
        msg: 'an hour took too long to recount: the next run tries again',
        orgId: slow,
        at: expect.stringMatching(`^${DAYS[1]}`),
      },
    ]);
    const [left, counted] = [await hoursOf(slow), await hoursOf(other)];
    expect(left.hours).not.toEqual(left.counted);
    expect(counted.hours).toEqual(counted.counted);
    await keeping.run();
    const later = await hoursOf(slow);
    expect(later.hours).toEqual(later.counted);
  });

  it('is counted no further than the step under way when metering stops, and the stop waits for that step', async () => {
    const yesterday = today() - DAY_MS;
    await ensureRequestPartitions(db(), [new Date(yesterday).toISOString().slice(0, 10)]);
    const orgs = [await makeOrg(), await makeOrg()];
    await writeSettlements(
      db(),
      orgs.map((orgId) => settlement({ orgId, reservedAtMs: yesterday })),
    );
    await db().$executeRaw`DELETE FROM usage_hour WHERE org_id = ANY(${orgs})`;
    let logged = '';
    const destination = {
      write: (line: string) => {
        logged += line;
      },
    };
    const started = housekeeping(createLogger({ service: 'metering', level: 'info', destination }));
    let stopped = false;
    const { stopping } = await db().$transaction(async (other) => {
      await other.$executeRaw`LOCK TABLE month_total IN SHARE ROW EXCLUSIVE MODE`;
      started.start();
      await eventually(monthsAwaited);
      const stopping = Promise.resolve(started.stop()).then(() => {
        stopped = true;
      });
      await db().$queryRaw`SELECT 1`;
      expect(stopped).toBe(false);
      return { stopping };
    });
    await stopping;
    expect(JSON.parse(logged)).toMatchObject({ hours: 1 });
  });

  it('is not counted again once it may be deleted: the histogram of its day would lose the other hours', async () => {
    const orgId = await makeOrg();
    const day = new Date(today() - 8 * DAY_MS);
    await db().$executeRaw`INSERT INTO usage_time VALUES (${orgId}, 'day', ${day}, 'mdl_x', 5, NULL)`;
    await expect(db().$queryRaw`SELECT recount_usage_hour(${orgId}, ${day})`).rejects.toThrow(
      'usage by the hour is kept for 7 days',
    );
    expect((await hoursOf(orgId)).times).toMatchObject([{ durations: '5' }]);
  });

  it('is deleted after its time, and not before', async () => {
    const orgId = await makeOrg();
    const hour = (days: number) => new Date(today() - days * DAY_MS);
    for (const days of [8, 7])
      await db()
        .$executeRaw`INSERT INTO usage_hour VALUES (${orgId}, ${hour(days)}, 'key_x', 'mdl_x', 1, 0, 1, 1, 0, 1, 1)`;
    await housekeeping().run();
    expect((await hoursOf(orgId)).hours).toHaveLength(1);
    await expect(db().$queryRaw`SELECT prune_usage_hours(CURRENT_DATE - 6)`).rejects.toThrow(
      'at least 7 days',
    );
  });
});
