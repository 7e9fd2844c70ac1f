import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  instancesKey,
  leaseKey,
  monthKey,
  newModelId,
  newOrgId,
  orgStateKey,
  outboxKey,
  SETTLEMENT_JOB,
  SETTLEMENT_QUEUE,
  seal,
  settlementQueuePrefix,
} from '@tidegate/contracts';
import { closeDb, createDb, type Db, ensureRequestPartitions } from '@tidegate/db';
import { createRedisClient, type RedisClient } from '@tidegate/redis';
import { limiterService, runnerService } from '@tidegate/rpc';
import {
  eventually,
  PATIENT_DB,
  type TestPostgres,
  type TestRedis,
  testPostgres,
  testRedis,
  untilOneWaitsForALock,
} from '@tidegate/testing';
import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { ctl } from '../testing/ctl.ts';
import { differenceOf } from './ledgers.ts';
import type { DoctorReport } from './report.ts';
import { compareDays } from './usage.ts';

const TODAY = new Date().toISOString().slice(0, 10);
const MONTH = TODAY.slice(0, 7);
const TOMORROW = new Date(Date.parse(TODAY) + 86_400_000);
/** Of yesterday, so never ahead. */
const NOON = new Date(Date.parse(TODAY) - 43_200_000);
const orgId = newOrgId();

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let live: RedisClient;
let env: Record<string, string>;
const servers: Server[] = [];

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = createDb(postgres.url, PATIENT_DB);
  live = createRedisClient(redis.url);
  const asCtl = new URL(postgres.url);
  asCtl.searchParams.set('options', '-c role=tidegate_ctl');
  env = {
    DATABASE_URL: asCtl.href,
    REDIS_URL: redis.url,
    LIMITER_ADDRESSES: await served((server) =>
      server.addService(limiterService, {
        FindRequest: (_call: unknown, answer: sendUnaryData<object>) => answer(null, {}),
      }),
    ),
    RUNNER_ADDRESS: await served((server) =>
      server.addService(runnerService, {
        ListActivity: (_call: unknown, answer: sendUnaryData<object>) =>
          answer(null, { models: [], replicas: [] }),
      }),
    ),
    SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  };
  await installation();
});
afterAll(async () => {
  for (const server of servers) server.forceShutdown();
  live.disconnect();
  await closeDb(db);
  await Promise.all([postgres.drop(), redis.stop()]);
});

/** Serves gRPC calls. Resolves to the address. */
async function served(add: (server: Server) => void): Promise<string> {
  const server = new Server();
  servers.push(server);
  add(server);
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(`127.0.0.1:${port}`),
    ),
  );
}

/** An organization with a model, a request of 30 tokens, a gateway and a runner, in agreement. */
async function installation(): Promise<void> {
  const { id: planId } = await db.plan.findFirstOrThrow();
  await db.org.create({ data: { id: orgId, slug: 'acme', name: 'Acme', planId } });
  const ids = { orgId, keyId: 'key_1', modelId: newModelId() };
  const fixed = { kind: 'text', mode: 'always_on', contextTokens: 100, driver: 'external' } as const;
  await db.model.create({
    data: { ...fixed, id: ids.modelId, orgId, name: 'm', settings: {}, condition: 'running' },
  });
  await ensureRequestPartitions(db, [TODAY]);
  const day = new Date(TODAY);
  const tokens = { promptTokens: 10, completionTokens: 20 };
  const rest = { reservedTokens: 100, chargedTokens: 30, durationMs: 1, streamed: false, answered: true };
  await db.request.create({
    data: { ...ids, ...tokens, ...rest, reservationId: 'r1', day, reservedAt: day },
  });
  const sums = { unreportedTokens: 0, durationMsSum: 1, durationCount: 1, requests: 1, errors: 0 };
  await db.usageDay.create({ data: { ...ids, ...tokens, ...sums, day } });
  await db.usageHour.create({ data: { ...ids, ...tokens, ...sums, hour: day } });
  for (const step of ['hour', 'day'])
    await db.usageTime.create({ data: { orgId, step, at: day, modelId: ids.modelId, durations: 1 } });
  await db.monthTotal.create({ data: { orgId, month: MONTH, requests: 1, chargedTokens: 30 } });
  await live.hset(monthKey('tg:', orgId, MONTH), { requests: 1, charged: 30, reserved: 0 });
  await live.zadd(instancesKey('tg:'), 1, 'gw_1');
  await beat();
  const expiresAt = new Date(Date.now() + 3_600_000);
  await db.runnerLease.create({ data: { pool: 'local', epoch: 1, holder: 'box 1', expiresAt } });
}

/** The gateway's heartbeat, an hour ahead: it is not silent however long the tests take. */
const beat = () => live.hset(leaseKey('tg:', 'gw_1'), { beat_ms: Date.now() + 3_600_000 });

async function doctor(expected: 0 | 1, ...flags: string[]): Promise<DoctorReport> {
  const { status, out, err } = await ctl(['doctor', '--json', ...flags], env);
  expect({ status, err }).toEqual({
    status: expected,
    err: expected === 0 ? '' : expect.stringMatching(/need.* attention/),
  });
  return JSON.parse(out);
}

/** The only check that complains. */
async function complaint(...flags: string[]) {
  const { healthy, findings } = await doctor(1, ...flags);
  expect(healthy).toBe(false);
  const wrong = findings.filter(({ ok }) => !ok);
  expect(wrong).toHaveLength(1);
  return wrong[0];
}

describe('doctor', () => {
  it('finds nothing to do when everything agrees, with the rights of ctl', async () => {
    const { healthy, findings } = await doctor(0, '--days', '35');
    expect(healthy).toBe(true);
    expect(findings.map(({ check }) => check)).toEqual([
      ...['postgres', 'schema', 'month totals', 'day totals', 'hours', 'times', 'refusals', 'runners'],
      ...['upstream keys', 'models', 'left workloads', 'ledgers', 'outbox', 'reservations'],
      ...['limiters', 'runner calls', 'redis', 'gateway leases', 'queue'],
    ]);
    const text = await ctl(['doctor'], env);
    expect(text.out).toContain(`ok    ledgers: Redis and Postgres agree on ${MONTH}`);
  });

  it.each<[string, string, RegExp, () => Promise<unknown>, () => Promise<unknown>]>([
    [
      'a month that is not the sum of its days',
      'month totals',
      /the month has 1 requests and 30 tokens, its days 1 and 33/,
      () => unreported(3).then(() => shiftRow(3)),
      () => unreported(0).then(() => shiftRow(0)),
    ],
    [
      'a day that is not the sum of its requests',
      'day totals',
      /the day has 1 requests, 0 errors and 30 tokens, its rows 1, 0 and 37/,
      () => shiftRow(7),
      () => shiftRow(0),
    ],
    [
      'a day that is not the sum of its hours',
      'hours',
      /the day has 1 requests, 0 errors and 30 tokens, its hours 1, 1 and 30/,
      () => db.$executeRaw`UPDATE usage_hour SET errors = 1`,
      () => db.$executeRaw`UPDATE usage_hour SET errors = 0`,
    ],
    [
      'a histogram that holds more requests than were timed',
      'times',
      /1 requests were timed, and the histograms of the day hold 3, those of its hours 1/,
      () => db.$executeRaw`UPDATE usage_time SET durations = 2e24 + 1 WHERE step = 'day'`,
      () => db.$executeRaw`UPDATE usage_time SET durations = 1`,
    ],
    [
      'refusals dated in the future',
      'refusals',
      /1 counts are dated in the future/,
      async () => {
        await db.apiKey.create({ data: { ...aKey, orgId } });
        await db.refusalHour.create({
          data: { ...aRefusal, orgId, hour: TOMORROW },
        });
      },
      () => db.apiKey.delete({ where: { id: aKey.id } }),
    ],
    [
      'refusals of a day that are not the sum of its hours',
      'refusals',
      /the day has 3 refusals, its hours 1/,
      async () => {
        await db.apiKey.create({ data: { ...aKey, orgId } });
        await db.refusalHour.create({ data: { ...aRefusal, orgId, hour: NOON } });
        await db.$executeRaw`UPDATE refusal_day SET refusals = 3`;
      },
      () => db.apiKey.delete({ where: { id: aKey.id } }),
    ],
    [
      'a ledger that has less than Postgres',
      'ledgers',
      /acme: Redis has 5 fewer tokens than Postgres/,
      () => live.hincrby(monthKey('tg:', orgId, MONTH), 'charged', -5),
      () => live.hincrby(monthKey('tg:', orgId, MONTH), 'charged', 5),
    ],
    [
      'settlements that have waited too long',
      'outbox',
      /acme: 1, the oldest for \d+ s/,
      async () => {
        await live.hincrby(monthKey('tg:', orgId, MONTH), 'requests', 1);
        await live.xadd(outboxKey('tg:', orgId), `${Date.now() - 600_000}-0`, 's', 'x');
      },
      async () => {
        await live.hincrby(monthKey('tg:', orgId, MONTH), 'requests', -1);
        await live.del(outboxKey('tg:', orgId));
      },
    ],
    [
      'a silent gateway that has not been ended',
      'gateway leases',
      /gw_1 has been silent for \d+ s/,
      () => live.hset(leaseKey('tg:', 'gw_1'), { beat_ms: Date.now() - 60_000 }),
      beat,
    ],
    [
      'slots and reservations that no gateway holds',
      'reservations',
      /2 requests in progress, 0 tokens reserved, and no gateway has a lease/,
      async () => {
        await live.hset(orgStateKey('tg:', orgId), { in_flight: 2 });
        await live.del(instancesKey('tg:'));
      },
      async () => {
        await live.del(orgStateKey('tg:', orgId));
        await live.zadd(instancesKey('tg:'), 1, 'gw_1');
      },
    ],
    [
      'a runner whose lease has run out',
      'runners',
      /pool local has had no leader for \d+ s/,
      () => db.$executeRaw`UPDATE runner_lease SET expires_at = now() - interval '1 minute'`,
      () => db.$executeRaw`UPDATE runner_lease SET expires_at = now() + interval '1 hour'`,
    ],
    [
      'a schema that everybody may create functions in',
      'postgres',
      /everybody may make functions in the schema public/,
      () => db.$executeRaw`GRANT CREATE ON SCHEMA public TO PUBLIC`,
      () => db.$executeRaw`REVOKE CREATE ON SCHEMA public FROM PUBLIC`,
    ],
    [
      'a migration that is missing',
      'schema',
      /the database lacks \d+_\w+/,
      () =>
        db.$executeRaw`UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name LIKE '%_init'`,
      () => db.$executeRaw`UPDATE _prisma_migrations SET rolled_back_at = NULL`,
    ],
  ])('names %s, says what to do, and exits 1', async (_what, check, found, harm, heal) => {
    await harm();
    try {
      expect(await complaint()).toEqual({
        check,
        ok: false,
        found: expect.stringMatching(found),
        todo: expect.any(String),
      });
    } finally {
      await heal();
    }
    await doctor(0);
  });

  describe('compares days with their requests', () => {
    /** Enough rows for several pages, of an organization that has no usage. */
    const many = () => db.$executeRaw`
      INSERT INTO request (reservation_id, day, org_id, key_id, model_id, admitted_at, answered, streamed, reserved_tokens, charged_tokens)
      SELECT 'many-' || i, ${TODAY}::date, 'org_many', 'key_x', 'mdl_x', now(), i % 2 = 0, false, 5, 2
      FROM generate_series(1, 500) i`;
    const forget = () => db.request.deleteMany({ where: { orgId: 'org_many' } });

    it('in pieces that together count each request once', async () => {
      await many();
      try {
        expect(await compareDays(db, TODAY, { pagesAtOnce: 1 })).toMatchObject({
          ok: false,
          found: `org_many, ${TODAY}: the day has 0 requests, 0 errors and 0 tokens, its rows 500, 250 and 1000`,
        });
      } finally {
        await forget();
      }
      expect(await compareDays(db, TODAY, { pagesAtOnce: 1 })).toMatchObject({ ok: true });
    });

    it('at one moment, whatever is written between the pieces', async () => {
      let comparing: ReturnType<typeof compareDays> | undefined;
      await db.$transaction(async (writer) => {
        await writer.$executeRaw`LOCK TABLE request IN ACCESS EXCLUSIVE MODE`;
        comparing = compareDays(db, TODAY);
        await untilOneWaitsForALock(db);
        await writer.$executeRaw`
          INSERT INTO request (reservation_id, day, org_id, key_id, model_id, admitted_at, answered, streamed, reserved_tokens, charged_tokens)
          VALUES ('late', ${TODAY}::date, ${orgId}, 'key_late', 'mdl_x', now(), true, false, 5, 2)`;
        await writer.$executeRaw`
          INSERT INTO usage_day VALUES (${orgId}, ${TODAY}::date, 'key_late', 'mdl_x', 1, 0, 1, 1, 0, 0, 0)`;
      });
      try {
        expect(await comparing).toMatchObject({ ok: true });
        expect(await compareDays(db, TODAY)).toMatchObject({ ok: true });
      } finally {
        await db.request.deleteMany({ where: { keyId: 'key_late' } });
        await db.usageDay.deleteMany({ where: { keyId: 'key_late' } });
      }
    });

    it('for a limited time, and only warns of a day that takes longer', async () => {
      expect(await compareDays(db, TODAY, { maxMs: 0 })).toMatchObject({
        ok: true,
        warning: true,
        found: expect.stringContaining(`the requests of ${TODAY} could not be counted in 0 minutes`),
        todo: expect.stringContaining('does not mean that anything is wrong'),
      });
    });
  });

  it('only warns of a statement that takes too long, and continues with the rest', async () => {
    let examining: ReturnType<typeof doctor> | undefined;
    await db.$transaction(async (holder) => {
      await holder.$executeRaw`LOCK TABLE refusal_day IN ACCESS EXCLUSIVE MODE`;
      examining = doctor(0);
      await untilOneWaitsForALock(db);
      // Postgres reports the end of a statement's time in the same way.
      await db.$queryRaw`
        SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await examining;
    });
    const { findings } = (await examining) ?? { findings: [] };
    expect(findings.filter(({ ok, warning }) => !ok || warning)).toEqual([
      {
        check: 'refusals',
        ok: true,
        warning: true,
        found: expect.stringContaining('could not be checked in time: Postgres took too long'),
        todo: expect.stringContaining('does not mean that anything is wrong'),
      },
    ]);
  });

  describe('where metering of the previous release wrote a request without its hour', () => {
    const rollups = async () => {
      const { findings } = JSON.parse((await ctl(['doctor', '--json'], env)).out) as DoctorReport;
      return findings.filter(({ check }) => ['hours', 'times'].includes(check));
    };
    /** Writes a request as that release does, and takes it back. */
    const withRequest = async (agoMs: number, look: () => Promise<void>) => {
      const reservedAt = new Date(Date.now() - agoMs);
      const day = new Date(reservedAt.toISOString().slice(0, 10));
      await ensureRequestPartitions(db, [day.toISOString().slice(0, 10)]);
      const ids = { orgId, keyId: 'key_old', modelId: newModelId(), day };
      const tokens = { promptTokens: 1, completionTokens: 2 };
      const rest = { reservedTokens: 9, chargedTokens: 3, durationMs: 1, streamed: false, answered: true };
      await db.request.create({ data: { ...ids, ...tokens, ...rest, reservedAt, reservationId: 'r2' } });
      const sums = { unreportedTokens: 0, durationMsSum: 1, durationCount: 1, requests: 1, errors: 0 };
      await db.usageDay.create({ data: { ...ids, ...tokens, ...sums } });
      try {
        await look();
      } finally {
        await db.request.deleteMany({ where: { reservationId: 'r2' } });
        await db.usageDay.deleteMany({ where: { keyId: 'key_old' } });
      }
    };

    it('says that a recent one will settle, and does not call it a fault', () =>
      withRequest(60_000, async () => {
        const settling = expect.stringMatching(
          /agree, except for requests of the last 30 minutes, .*within 10/,
        );
        expect(await rollups()).toEqual([
          { check: 'hours', ok: true, found: settling },
          { check: 'times', ok: true, found: settling },
        ]);
      }));

    it('calls an older one a fault, because it should have been counted by now', () =>
      withRequest(2 * 3_600_000, async () => {
        expect(await rollups()).toMatchObject([
          {
            check: 'hours',
            ok: false,
            found: expect.stringMatching(/has 2 requests, .* its hours 1,|has 1 requests/),
          },
          { check: 'times', ok: false },
        ]);
      }));

    it('calls it a fault if histograms lack it and hours do not, because it is never counted again then', () =>
      withRequest(60_000, async () => {
        const { keyId, modelId, reservedAt } = await db.request.findFirstOrThrow({
          where: { reservationId: 'r2' },
        });
        const hour = new Date(reservedAt.getTime() - (reservedAt.getTime() % 3_600_000));
        const sums = { unreportedTokens: 0, durationMsSum: 1, durationCount: 1, requests: 1, errors: 0 };
        const tokens = { promptTokens: 1, completionTokens: 2 };
        await db.usageHour.create({ data: { orgId, keyId, modelId, ...tokens, ...sums, hour } });
        try {
          expect(await rollups()).toMatchObject([{ ok: true }, { check: 'times', ok: false }]);
        } finally {
          await db.usageHour.deleteMany({ where: { keyId: 'key_old' } });
        }
      }));
  });

  it('names dead letters, and how to see and replay them', async () => {
    const connection = createRedisClient(redis.url, { maxRetriesPerRequest: null });
    const options = { prefix: settlementQueuePrefix('tg:'), connection };
    const queue = new Queue(SETTLEMENT_QUEUE, options);
    await queue.add(SETTLEMENT_JOB, { settlements: [] });
    const fail = async () => Promise.reject(new UnrecoverableError('no use'));
    const worker = new Worker(SETTLEMENT_QUEUE, fail, options);
    await eventually(async () => (await queue.getFailedCount()) === 1);
    await worker.close();
    const { found, todo } = (await complaint()) ?? {};
    expect(found).toContain('1 dead');
    expect(todo).toContain('ctl queue replay');
    await queue.obliterate({ force: true });
    await queue.close();
    connection.disconnect();
  });

  it('continues with the rest when Redis cannot be reached', async () => {
    const { status, out } = await ctl(['doctor', '--json'], { ...env, REDIS_URL: 'redis://127.0.0.1:1' });
    const wrong = (JSON.parse(out) as DoctorReport).findings.filter(({ ok }) => !ok);
    expect([status, wrong.map(({ check }) => check)]).toEqual([
      1,
      ['ledgers', 'outbox', 'reservations', 'redis', 'gateway leases', 'queue'],
    ]);
    expect(wrong[0]?.found).toContain('cannot be checked: ');
  });

  it('continues with the rest when Redis accepts connections but says nothing, and waits once', async () => {
    const sockets: Socket[] = [];
    let mostOpen = 0;
    const silent = createServer((socket) => {
      sockets.push(socket.resume());
      mostOpen = Math.max(mostOpen, sockets.filter(({ destroyed }) => !destroyed).length);
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    try {
      const { status, out } = await ctl(['doctor', '--json'], {
        ...env,
        REDIS_URL: `redis://127.0.0.1:${port}`,
      });
      const wrong = (JSON.parse(out) as DoctorReport).findings.filter(({ ok }) => !ok);
      expect(status).toBe(1);
      expect(wrong.map(({ check, found }) => [check, found])).toEqual(
        ['ledgers', 'outbox', 'reservations', 'redis', 'gateway leases', 'queue'].map((check) => [
          check,
          'cannot be checked: Redis did not answer in time.',
        ]),
      );
      expect(mostOpen).toBe(3);
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });

  it('continues with the rest when Postgres cannot be reached', async () => {
    const { status, out } = await ctl(['doctor', '--json'], {
      ...env,
      DATABASE_URL: 'postgresql://x@127.0.0.1:1/x',
    });
    const { findings } = JSON.parse(out) as DoctorReport;
    expect([status, findings.map(({ check, ok }) => [check, ok])]).toEqual([
      1,
      [
        ['postgres', false],
        ['limiters', true],
        ['runner calls', true],
        ['redis', true],
        ['gateway leases', true],
        ['queue', true],
      ],
    ]);
    expect(findings[0]?.found).toBe('cannot be checked: Postgres does not answer at 127.0.0.1:1.');
  });

  it('checks each limiter and runner at the address that is configured', async () => {
    const LIMITER_ADDRESSES = `${env.LIMITER_ADDRESSES},127.0.0.1:1`;
    const away = { ...env, LIMITER_ADDRESSES, RUNNER_ADDRESS: 'local=127.0.0.1:1' };
    const { status, out } = await ctl(['doctor', '--json'], away);
    const wrong = (JSON.parse(out) as DoctorReport).findings.filter(({ ok }) => !ok);
    expect(status).toBe(1);
    expect(wrong.map(({ check, found }) => [check, found])).toEqual([
      ['limiters', '127.0.0.1:1: no connection: connect ECONNREFUSED 127.0.0.1:1'],
      ['runner calls', 'pool local at 127.0.0.1:1: no connection: connect ECONNREFUSED 127.0.0.1:1'],
    ]);
  });

  it('finds upstream keys that cannot be unsealed, and warns of models that have failed', async () => {
    const sealed = (byte: number) => Uint8Array.from(seal(Buffer.alloc(32, byte), 'sk'));
    await db.model.updateMany({ data: { upstreamKey: sealed(2) } });
    expect(await complaint()).toMatchObject({
      check: 'upstream keys',
      found: 'these cannot be unsealed: acme: m',
    });
    await db.model.updateMany({
      data: { upstreamKey: sealed(1), condition: 'failed', conditionReason: 'No.\nx' },
    });
    const { findings } = await doctor(0);
    expect(findings.find(({ check }) => check === 'models')).toMatchObject({
      ...{ ok: true, warning: true, found: 'failed: acme: m (No.)' },
    });
    expect((await ctl(['doctor'], env)).out).toContain('warn  models: failed: acme: m (No.)');
    await db.model.updateMany({ data: { upstreamKey: null, condition: 'running', conditionReason: null } });
  });

  it('warns of workloads that deleted models left long ago, and not of new ones', async () => {
    const settings = { namespace: 'gpu', kind: 'deployment', name: 'qwen', service: 'qwen' };
    const leave = (modelId: string, leftAt: Date) =>
      db.leftWorkload.create({ data: { modelId, pool: 'gpu0', settings, leftAt } });
    const finding = async () => {
      const { findings } = await doctor(0);
      return findings.find(({ check }) => check === 'left workloads');
    };
    await leave('mdl_new', new Date());
    expect(await finding()).toMatchObject({ ok: true, found: 'those of deleted models are scaled down' });
    await leave('mdl_old', new Date('2026-01-02T03:04:05Z'));
    expect(await finding()).toMatchObject({
      ...{ ok: true, warning: true },
      found: 'not scaled down: gpu/deployment/qwen (pool gpu0, since 2026-01-02 03:04 UTC)',
    });
    await db.leftWorkload.deleteMany();
  });

  it('refuses more days than are kept', async () => {
    const { status, err } = await ctl(['doctor', '--days', '36'], env);
    expect([status, err]).toEqual([1, 'Days must be a whole number from 1 to 35.\n']);
  });
});

const aKey = {
  id: 'key_2',
  name: 'k',
  prefix: 'ti_abc',
  hash: new Uint8Array(32),
  allModels: true,
  requestsPerMinute: 1,
  requestsAtOnce: 1,
};
const aRefusal = { keyId: aKey.id, modelId: '', code: 'not_found', cause: '', refusals: 1 };
const unreported = async (tokens: number) => {
  await db.usageDay.updateMany({ data: { unreportedTokens: tokens } });
  await db.usageHour.updateMany({ data: { unreportedTokens: tokens } });
};
const shiftRow = (more: number) => db.$executeRaw`UPDATE request SET charged_tokens = ${30 + more}::int`;

describe('a ledger in Redis', () => {
  const settled = (requests: number, charged: number) => ({ requests, charged });
  const state = (requests: number, charged: number, outbox = 0, inFlight = 0) => ({
    month: { requests, charged, reserved: 0 },
    outbox,
    inFlight,
    oldestMs: null,
  });

  it.each([
    ['is ahead by what waits and is in progress', state(9, 50, 2, 3), settled(4, 40), settled(4, 40)],
    ['was read while Postgres caught up', state(5, 50), settled(4, 40), settled(6, 60)],
    ['is not there yet', { ...state(0, 0), month: null }, settled(4, 40), settled(4, 40)],
  ])('is right if it %s', (_what, live, before, after) => {
    expect(differenceOf(live, before, after)).toBeNull();
  });

  it.each([
    ['fewer requests', state(3, 40), /1 fewer requests/],
    [
      'more requests than wait or are in progress',
      state(8, 40, 2, 1),
      /4 more requests .* but only 3 unsettled/,
    ],
    [
      'more requests and tokens, as after a restore of Postgres',
      state(9, 75),
      /5 more requests and 35 more tokens than Postgres, but only 0 unsettled/,
    ],
    ['fewer tokens', state(4, 39), /1 fewer tokens/],
    ['more tokens although nothing waits', state(4, 41), /1 more tokens/],
  ])('is wrong if it has %s', (_what, live, words) => {
    expect(differenceOf(live, settled(4, 40), settled(4, 40))).toMatch(words);
  });
});

describe('ctl', () => {
  it('says its version, without an installation', async () => {
    const { status, out } = await ctl(['--version'], {});
    expect([status, out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});
