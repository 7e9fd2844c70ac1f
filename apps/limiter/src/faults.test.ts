import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, type Db, explainPostgres } from '@tidegate/db';
import { monthEndMs, monthOf } from '@tidegate/limits';
import { callUnary } from '@tidegate/rpc';
import { createLogger } from '@tidegate/runtime';
import {
  eventually,
  freePort,
  type TestPostgres,
  type TestRedis,
  testPostgres,
  testRedis,
} from '@tidegate/testing';
import { anAdmitInput } from './testing/admit-input.ts';
import { changePlan, connectDb, makeKey, makeOrg, openStore, startTestLimiter } from './testing/fixture.ts';
import { beatingInstance, monthOfOrg, PATIENT_CALL, Rig } from './testing/rig.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let rig: Rig;

beforeAll(async () => {
  postgres = await testPostgres();
  db = connectDb(postgres.url);
});

beforeEach(async () => {
  redis = await testRedis({ appendonly: true });
  rig = new Rig(redis.url, db);
});

afterEach(async () => {
  await rig.close();
  await redis.stop();
});

afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});

describe('a limiter whose port is taken', () => {
  it('does not start, and leaves no connection to Redis behind', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { redis: watcher } = await openStore(redis.url);
    const clients = async () =>
      String(await watcher.client('LIST'))
        .trim()
        .split('\n').length;
    const own = await clients();
    try {
      const { port } = taken.address() as AddressInfo;
      await expect(startTestLimiter({ redisUrl: redis.url, db, port })).rejects.toThrow(/EADDRINUSE/);
      await eventually(async () => (await clients()) === own);
    } finally {
      taken.close();
      watcher.disconnect();
    }
  });
});

describe('Redis killed and started again', () => {
  it('makes calls fail immediately, then serves with its old state, scripts included', async () => {
    const limiter = await rig.limiter();
    const session = rig.session(limiter);
    const key = await makeKey(db, await makeOrg(db), { requestsPerMinute: 5, requestsAtOnce: 3 });
    const instanceId = await beatingInstance(session);
    const first = anAdmitInput(key, instanceId);
    expect((await session.decide({ admit: first })).admitted).toBeTruthy();
    const second = anAdmitInput(key, instanceId, { reserve: false });
    await session.decide({ admit: second });

    await redis.kill();
    const failed = await session.ask({ admit: anAdmitInput(key, instanceId) });
    expect(failed.failed?.reason).toMatch(/^redis/);
    expect(limiter.problem()).toBe('Redis is unavailable');

    await redis.restart();
    await eventually(() => limiter.problem() === null);
    expect(await monthOfOrg(session, key.orgId)).toMatchObject({
      requests: 1,
      reservedTokens: 1_000,
      inFlight: 2,
    });
    expect((await session.ask({ heartbeat: { instanceId } })).heartbeat).toMatchObject({ leaseLost: false });
    expect((await session.decide({ admit: anAdmitInput(key, instanceId) })).admitted?.window).toMatchObject({
      remaining: 2,
    });
    expect((await session.decide({ admit: anAdmitInput(key, instanceId) })).rateLimited).toMatchObject({
      cause: 'CAUSE_KEY_REQUESTS_AT_ONCE',
    });
    await session.ask({ settle: { ...first, answered: true } });
    await session.ask({ withdraw: second });
    expect(await monthOfOrg(session, key.orgId)).toMatchObject({ chargedTokens: 1_000, inFlight: 1 });
  });

  it('delivers notices to sessions as before', async () => {
    const limiter = await rig.limiter();
    const session = rig.session(limiter);
    await beatingInstance(session);
    await redis.restart();
    await eventually(() => limiter.problem() === null);
    const orgId = await makeOrg(db);
    await eventually(async () => {
      await callUnary(session.client, 'refreshOrgs', { orgIds: [orgId] }, PATIENT_CALL);
      return session.notices.some(({ orgChanged }) => orgChanged?.orgId === orgId);
    });
  });
});

describe('a Redis that hangs', () => {
  it('makes open calls fail within seconds and calls past the bound immediately, and is used again when it answers', async () => {
    const limiter = await rig.limiter({ maxOpenCalls: 200, timing: { answerTimeoutMs: 2_000 } });
    const session = rig.session(limiter);
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    await session.decide({ admit: anAdmitInput(key, instanceId) });
    for (const pid of redis.pids) process.kill(pid, 'SIGSTOP');
    try {
      const ref = { orgId: key.orgId, instanceId, admissionId: 'none' };
      const asked = Array.from({ length: 250 }, () => session.ask({ withdraw: ref }));
      const reasons = (await Promise.all(asked)).map(({ failed }) => failed?.reason.split(':')[0]);
      expect(reasons.filter((reason) => reason === 'overloaded')).toHaveLength(50);
      expect(reasons.filter((reason) => reason === 'redis')).toHaveLength(200);
    } finally {
      for (const pid of redis.pids) process.kill(pid, 'SIGCONT');
    }
    await eventually(async () => (await session.ask({ heartbeat: { instanceId } })).heartbeat);
    expect((await session.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
  });

  it('leaves a limiter able to show that it is alive, when a heartbeat follows calls that wait', async () => {
    const session = rig.session(await rig.limiter());
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    await session.decide({ admit: anAdmitInput(key, instanceId) });
    expect((await session.ask({ heartbeat: { instanceId } })).heartbeat).toBeTruthy();
    expect(session.signs).toBe(0);
    for (const pid of redis.pids) process.kill(pid, 'SIGSTOP');
    let asked: Promise<unknown>[] = [];
    try {
      asked = [session.decide({ admit: anAdmitInput(key, instanceId) })];
      await new Promise((resolve) => setImmediate(resolve));
      asked.push(session.ask({ heartbeat: { instanceId } }));
      await eventually(() => session.signs === 1);
    } finally {
      for (const pid of redis.pids) process.kill(pid, 'SIGCONT');
    }
    expect(await Promise.all(asked)).toMatchObject([{ admitted: {} }, { heartbeat: { leaseLost: false } }]);
  });
});

describe('a Redis that has lost its scripts', () => {
  it('gets them back without a failed call', async () => {
    const session = rig.session(await rig.limiter());
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    const { redis: direct, everywhere } = await openStore(redis.url);
    await session.decide({ admit: anAdmitInput(key, instanceId) });
    await everywhere('script', 'FLUSH');
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => session.decide({ admit: anAdmitInput(key, instanceId) })),
    );
    expect(outcomes.every((outcome) => outcome.admitted)).toBe(true);
    expect(await monthOfOrg(session, key.orgId)).toMatchObject({ requests: 21, inFlight: 21 });
    direct.disconnect();
  });
});

describe('a Postgres that is unavailable', () => {
  it('leaves known keys working, makes unknown ones fail, and is read again when it is back', async () => {
    const nowhere = connectDb(`postgresql://nobody@127.0.0.1:${await freePort()}/none`);
    const key = await makeKey(db, await makeOrg(db));
    const unknown = await makeKey(db, await makeOrg(db));
    const warm = rig.session(await rig.limiter());
    const cut = rig.session(await rig.limiter({ db: nowhere }));
    const instanceId = await beatingInstance(warm);
    const ask = ({ orgTag, hash: keyHash }: typeof key) => ({ authenticate: { orgTag, keyHash } });
    await warm.ask(ask(key));
    await warm.decide({ admit: anAdmitInput(key, instanceId) });

    expect((await cut.ask(ask(key))).authenticate?.principal?.keyId).toBe(key.keyId);
    expect((await cut.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    expect((await cut.ask(ask(unknown))).failed?.reason).toMatch(/^postgres/);
    expect((await cut.ask({ admit: anAdmitInput(unknown, instanceId) })).failed?.reason).toMatch(/^postgres/);
    expect((await warm.ask(ask(unknown))).authenticate?.principal?.keyId).toBe(unknown.keyId);
    await closeDb(nowhere);
  });
});

describe('a Postgres that refuses', () => {
  it('is logged with its cause, at the start and for each failed call, without the password', async () => {
    const url = new URL(postgres.url);
    url.password = 'not-to-be-shown';
    const refusing = connectDb(url.toString());
    const lines: string[] = [];
    const logger = createLogger({
      service: 'limiter',
      level: 'info',
      explain: explainPostgres,
      destination: { write: (line) => lines.push(line) },
    });
    const session = rig.session(await rig.limiter({ db: refusing, logger }));
    const said = /refuses the user or the password in DATABASE_URL: .* user /;
    const told = await eventually(() => lines.find((line) => line.includes('Postgres cannot be used')));
    expect(JSON.parse(told).reason).toMatch(said);
    const { orgTag, hash: keyHash } = await makeKey(db, await makeOrg(db));
    const { failed } = await session.ask({ authenticate: { orgTag, keyHash } });
    expect(failed?.reason).toMatch(said);
    expect([...lines, failed?.reason].join()).not.toContain('not-to-be-shown');
    await closeDb(refusing);
  });
});

describe('state that is missing', () => {
  it('is read once for many callers, and the read never undoes a later write-through', async () => {
    const first = rig.session(await rig.limiter());
    const sessions = [first, rig.session(await rig.limiter())];
    for (let round = 0; round < 10; round++) {
      const orgId = await makeOrg(db, { requestsAtOnce: 50 });
      const key = await makeKey(db, orgId);
      const instanceId = await beatingInstance(first);
      const admitting = Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          sessions[i % 2]?.decide({ admit: anAdmitInput(key, instanceId) }),
        ),
      );
      await changePlan(db, orgId, { requestsAtOnce: 3 });
      const { client } = sessions[round % 2] ?? first;
      await callUnary(client, 'refreshOrgs', { orgIds: [orgId] }, PATIENT_CALL);
      await admitting;
      const late = await first.decide({ admit: anAdmitInput(key, instanceId) });
      expect(late.rateLimited).toMatchObject({ limit: 3 });
    }
  });

  it('of the month comes from its settled totals', async () => {
    const orgId = await makeOrg(db, { tokensPerMonth: 10_000, requestsPerMonth: 100 });
    const key = await makeKey(db, orgId);
    const month = monthOf(Date.now());
    await db.monthTotal.create({ data: { orgId, month, requests: 40, chargedTokens: 8_500 } });
    const session = rig.session(await rig.limiter());
    const instanceId = await beatingInstance(session);
    expect((await session.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    const beforeMs = Date.now();
    const refused = (await session.decide({ admit: anAdmitInput(key, instanceId) })).quotaExceeded;
    expect(refused?.cause).toBe('CAUSE_TOKENS');
    expect(refused?.retryAfterMs).toBeLessThanOrEqual(monthEndMs(month) - beforeMs + 1);
    expect(refused?.retryAfterMs).toBeGreaterThanOrEqual(monthEndMs(month) - Date.now() - 1);
    expect(await monthOfOrg(session, orgId)).toMatchObject({
      month,
      requests: 41,
      chargedTokens: 8_500,
      reservedTokens: 1_000,
      resetsAtMs: monthEndMs(month),
    });
  });
});

describe('a new month', () => {
  it('starts with a full quota, and open requests are charged to the month of their reservation [plan.freed.month] [plan.settlement.month]', async () => {
    const orgId = await makeOrg(db, { tokensPerMonth: 1_500 });
    const key = await makeKey(db, orgId);
    const endMs = monthEndMs(monthOf(Date.now()));
    // The first clock is ten minutes before the month's end, so that it stays there even in a slow
    // test. Leases last longer than that.
    const at = async (ms: number) => rig.session(await rig.limiter({ clockOffsetMs: ms - Date.now() }));
    const before = await at(endMs - 600_000);
    const after = await at(endMs);
    const instanceId = await beatingInstance(before);
    const open = anAdmitInput(key, instanceId);
    expect((await before.decide({ admit: open })).admitted).toBeTruthy();
    expect((await before.decide({ admit: anAdmitInput(key, instanceId) })).quotaExceeded).toBeTruthy();
    expect((await after.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();

    await after.ask({ settle: { ...open, errorCode: 'upstream_error' } });
    expect(await monthOfOrg(before, orgId)).toMatchObject({ chargedTokens: 1_000, reservedTokens: 0 });
    expect(await monthOfOrg(after, orgId)).toMatchObject({ chargedTokens: 0, reservedTokens: 1_000 });
  });
});

describe('a limiter that stops', () => {
  it('ends its sessions, and leaves settlements in the queue', async () => {
    const limiter = await rig.limiter();
    const session = rig.session(limiter);
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    const admission = anAdmitInput(key, instanceId);
    await session.decide({ admit: admission });
    const settling = session.ask({ settle: { ...admission, answered: true } });
    await settling;
    await limiter.close();
    await session.ended;
    const { redis: direct } = await openStore(redis.url);
    expect(await direct.llen('{tg:queue}:settlements:wait')).toBe(1);
    direct.disconnect();
  });
});
