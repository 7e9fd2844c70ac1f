import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newInstanceId, newOrgId } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { createLogger } from '@tidegate/runtime';
import { eventually, freePort, type TestRedis, testRedis } from '@tidegate/testing';
import { Admissions } from '../admission/admissions.ts';
import { takeLargeBody } from '../admission/large-body.ts';
import { LimiterClock } from '../redis/clock.ts';
import { createRedisLink } from '../redis/link.ts';
import { Lock } from '../redis/lock.ts';
import { Store } from '../redis/store.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { Seeder } from '../seeding/seeder.ts';
import { connectDb, openStore, PATIENT_MS, ROOMY_PLAN, type TestStore } from '../testing/fixture.ts';
import { putOrg } from '../testing/org.ts';
import { joinOrg, sendHeartbeat } from './lease.ts';
import { Reaper, type ReaperOptions, type TrustedServers } from './reaper.ts';
import { startReaper } from './start-reaper.ts';

/** Longer than a busy machine may take from a heartbeat to the run that finds it recent. */
const LEASE_MS = 600_000;
const GRACE_MS = 8_000;
const HOUR_MS = 3_600_000;
const LONG_AFTER_MS = 2 * LEASE_MS;
const trusted: TrustedServers = { observe: () => {}, isTrusted: () => true };
/** The instances that the reapers reported as failed. */
const failed: string[] = [];

let redis: TestRedis;
let test: TestStore;
/** Never queried, because Redis has everything the tests need. */
let nowhere: Db;

beforeAll(async () => {
  redis = await testRedis();
  test = await openStore(redis.url);
  nowhere = connectDb(`postgresql://nobody@127.0.0.1:${await freePort()}/none`);
});

beforeEach(async () => {
  failed.length = 0;
  await test.everywhere('flushall');
});

afterAll(async () => {
  test.redis.disconnect();
  await closeDb(nowhere);
  await redis.stop();
});

/** For a limiter whose process clock is wrong, with limiter time shifted by `laterMs`. */
const scriptDepsOf = (wrongByMs: number, laterMs = 0): ScriptDeps => ({
  ...test.scriptDepsAt(laterMs),
  clock: new LimiterClock(laterMs, () => Date.now() + wrongByMs),
});

function reaperOf(scriptDeps: ScriptDeps, more: Partial<ReaperOptions> = {}): Reaper {
  const seeder = new Seeder(scriptDeps, nowhere);
  return new Reaper({
    ...scriptDeps,
    admissions: new Admissions({
      ...scriptDeps,
      seeder,
      onSettled: () => {},
      onCounted: () => {},
    }),
    lock: new Lock(scriptDeps.store, scriptDeps.names.reaperLock, 'lim_test', 5_000),
    leaseMs: LEASE_MS,
    graceMs: GRACE_MS,
    onReaped: () => {},
    onFailed: (instanceId) => failed.push(instanceId),
    ...more,
  });
}

/**
 * Makes an instance that has sent one heartbeat and holds a large body in each of some
 * organizations.
 */
async function holding(
  scriptDeps: ScriptDeps,
  orgs: number,
): Promise<{ instanceId: string; orgIds: string[] }> {
  const instanceId = newInstanceId();
  const orgIds = Array.from({ length: orgs }, () => newOrgId());
  await sendHeartbeat(scriptDeps, instanceId, false);
  await Promise.all(
    orgIds.map(async (orgId) => {
      await putOrg(scriptDeps, { orgId, version: 1, ...ROOMY_PLAN });
      await joinOrg(scriptDeps, instanceId, orgId);
      const taken = await takeLargeBody(scriptDeps, { orgId, instanceId, admissionId: 'req_held' }, false);
      expect(taken).toEqual({ kind: 'taken' });
    }),
  );
  return { instanceId, orgIds };
}

const largeIn = (orgId: string) => test.redis.hget(test.names.org(orgId), 'large');

describe('the death of an instance', () => {
  it.each([
    [HOUR_MS, -HOUR_MS],
    [-HOUR_MS, HOUR_MS],
  ])(
    "is decided by Redis' clock alone: a heartbeat through a limiter %i ms ahead, reaped by one %i ms ahead",
    async (beats, reaps) => {
      const { instanceId, orgIds } = await holding(scriptDepsOf(beats), 1);
      expect(await reaperOf(scriptDepsOf(reaps)).run(trusted)).toEqual([]);
      expect(await largeIn(orgIds[0] ?? '')).toBe('1');
      expect(await reaperOf(scriptDepsOf(reaps, LEASE_MS + 1_000)).run(trusted)).toEqual([instanceId]);
      expect(await largeIn(orgIds[0] ?? '')).toBe('0');
    },
  );

  it('is not declared before the instance could send its first heartbeat, or one after its lease was lost', async () => {
    const scriptDeps = scriptDepsOf(0);
    const instanceId = newInstanceId();
    await test.redis.zadd(test.names.instances, 0, instanceId);
    expect(await reaperOf(scriptDeps).run(trusted)).toEqual([]);
    expect(await sendHeartbeat(scriptDeps, instanceId, false)).toBe('alive');
    expect(await test.redis.ttl(test.names.lease(instanceId))).toBeGreaterThan(LEASE_MS / 1_000);
    await test.redis.del(test.names.lease(instanceId));
    expect(await reaperOf(scriptDeps).run(trusted)).toEqual([]);
    expect(await sendHeartbeat(scriptDeps, instanceId, true)).toBe('lease_unknown');
    expect(await test.redis.ttl(test.names.lease(instanceId))).toBeGreaterThan(LEASE_MS / 1_000);
    expect(await reaperOf(scriptDepsOf(0, LEASE_MS + 1_000)).run(trusted)).toEqual([instanceId]);
  });

  it('is checked for every instance, however many there are', async () => {
    const scriptDeps = scriptDepsOf(0);
    const instanceIds = Array.from({ length: 300 }, () => newInstanceId());
    await Promise.all(instanceIds.map((instanceId) => sendHeartbeat(scriptDeps, instanceId, false)));
    expect(await reaperOf(scriptDeps).run(trusted)).toEqual([]);
    const gone = await reaperOf(scriptDepsOf(0, LEASE_MS + 1_000)).run(trusted);
    expect(instanceIds.filter((instanceId) => !gone.includes(instanceId))).toHaveLength(0);
  });
});

describe('what a dead instance held', () => {
  it('in many organizations is ended in several at a time, and a failure in one of them is tried again', async () => {
    const { instanceId, orgIds } = await holding(scriptDepsOf(0), 120);
    const another = await holding(scriptDepsOf(0), 1);
    const broken = test.names.withdrawn(orgIds[7] ?? '', instanceId);
    await test.redis.set(broken, 'not a sorted set');
    let pipelines = 0;
    const store = new Store({ shards: test.shards, onPipeline: () => pipelines++ });
    const observe = jest.fn();
    const reaper = reaperOf({ ...scriptDepsOf(0, LONG_AFTER_MS), store });
    expect(await reaper.run({ ...trusted, observe })).toEqual([another.instanceId]);
    expect(failed).toEqual([instanceId]);
    expect(await test.redis.smembers(test.names.orgsOf(instanceId))).toEqual([orgIds[7]]);
    expect(await Promise.all([...orgIds, ...another.orgIds].map(largeIn))).toEqual(
      [...orgIds, ...another.orgIds].map((_, i) => (i === 7 ? '1' : '0')),
    );
    expect(pipelines).toBeLessThan(orgIds.length / 2);
    // Called for the page and then for each chunk, so that a long run does not count as a
    // standstill.
    expect(observe.mock.calls.length).toBeGreaterThan(3);

    await test.redis.del(broken);
    expect(await reaper.run(trusted)).toEqual([instanceId]);
    expect(await largeIn(orgIds[7] ?? '')).toBe('0');
  });

  it('is left alone once the limiter may no longer reap', async () => {
    const { orgIds } = await holding(scriptDepsOf(0), 120);
    let observed = 0;
    const twice: TrustedServers = { observe: () => observed++, isTrusted: () => observed < 3 };
    expect(await reaperOf(scriptDepsOf(0, LONG_AFTER_MS)).run(twice)).toEqual([]);
    const left = await Promise.all(orgIds.map(largeIn));
    expect(new Set(left)).toEqual(new Set(['0', '1']));
  });

  it("is ended even while another lease's server is unavailable, and that instance then gets time to report", async () => {
    const [kept, dead] = [await holding(scriptDepsOf(0), 1), await holding(scriptDepsOf(0), 1)];
    const lease = test.names.lease(kept.instanceId);
    const reaper = reaperOf(scriptDepsOf(0, LONG_AFTER_MS));
    expect(await reaper.run({ ...trusted, isTrusted: (key) => key !== lease })).toEqual([dead.instanceId]);
    expect(await largeIn(kept.orgIds[0] ?? '')).toBe('1');
    expect(failed).toEqual([]);
    expect(await reaper.run({ ...trusted, isTrusted: (key) => key !== test.names.instances })).toEqual([]);
    expect(await reaper.run(trusted)).toEqual([kept.instanceId]);
  });

  it('is ended even if another instance cannot be fenced, and that one then gets time to report', async () => {
    const scriptDeps = scriptDepsOf(0);
    const [unwell, dead] = [await holding(scriptDeps, 1), await holding(scriptDeps, 1)];
    const lease = test.names.lease(unwell.instanceId);
    const aside = `${lease}:aside`;
    await test.redis.rename(lease, aside);
    await test.redis.set(lease, 'not a hash');
    const clock = { ms: 0 };
    const reaper = reaperOf(scriptDepsOf(0, LONG_AFTER_MS), { nowMs: () => clock.ms });
    expect(await reaper.run(trusted)).toEqual([dead.instanceId]);
    expect(failed).toEqual([unwell.instanceId]);

    await test.redis.rename(aside, lease);
    clock.ms = GRACE_MS - 1;
    expect(await reaper.run(trusted)).toEqual([]);
    expect(await sendHeartbeat(scriptDeps, unwell.instanceId, true)).toBe('alive');
    clock.ms = GRACE_MS;
    expect(await reaper.run(trusted)).toEqual([unwell.instanceId]);
  });
});

describe('while the index of instances is unavailable', () => {
  const withoutIndex = (): ScriptDeps => {
    const of = (key: string | null) => (key === test.names.instances ? null : test.shards.of(key));
    const shards = Object.assign(Object.create(test.shards), { of }) as TestStore['shards'];
    return { ...scriptDepsOf(0), store: new Store({ shards }) };
  };

  it('an instance keeps its lease and what it holds, but cannot join an organization', async () => {
    const { instanceId, orgIds } = await holding(scriptDepsOf(0), 1);
    const scriptDeps = withoutIndex();
    await test.redis.hset(test.names.lease(instanceId), 'beat_ms', 1);
    expect(await sendHeartbeat(scriptDeps, instanceId, true)).toBe('alive');
    const [orgId = ''] = orgIds;
    const ref = { orgId, instanceId, admissionId: 'req_more' };
    expect(await takeLargeBody(scriptDeps, ref, false)).toEqual({ kind: 'taken' });
    expect(await reaperOf(scriptDepsOf(0)).run(trusted)).toEqual([]);

    const anotherOrgId = newOrgId();
    await putOrg(scriptDeps, { orgId: anotherOrgId, version: 1, ...ROOMY_PLAN });
    await expect(joinOrg(scriptDeps, instanceId, anotherOrgId)).rejects.toThrow('unavailable');
    expect(await takeLargeBody(scriptDeps, { ...ref, orgId: anotherOrgId }, false)).toEqual({
      kind: 'need_join',
    });
  });
});

describe("the reaper's chore", () => {
  it("soon makes a limiter's time agree with Redis, whatever the clock of its process says", async () => {
    const logger = createLogger({ service: 'limiter', level: 'silent' });
    const link = createRedisLink(redis.url, PATIENT_MS, logger);
    const scriptDeps = scriptDepsOf(-HOUR_MS, LEASE_MS);
    link.open();
    const reaper = reaperOf(scriptDeps);
    const reaping = startReaper({ scriptDeps, reaper, link, graceMs: HOUR_MS, everyMs: 20, logger });
    try {
      await eventually(() => Math.abs(scriptDeps.clock.nowMs() - LEASE_MS - Date.now()) < HOUR_MS / 60);
    } finally {
      await reaping.stop();
      link.close();
    }
  });

  it('warns of an outage of Redis, but not before the first connection', async () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    const logger = createLogger({ service: 'limiter', level: 'info', destination });
    const warnings = () => lines.filter((line) => line.includes('the reaper failed: trying again'));
    const scriptDeps = scriptDepsOf(0);
    const link = createRedisLink(redis.url, PATIENT_MS, logger);
    const store = new Store({ shards: link.shards });
    const reaper = reaperOf({ ...scriptDeps, store });
    let runs = 0;
    const onRan = () => runs++;
    const options = { scriptDeps, reaper, link, graceMs: HOUR_MS, everyMs: 20, logger, onRan };
    const reaping = startReaper(options);
    try {
      await eventually(() => runs > 1);
      expect(warnings()).toEqual([]);
      link.open();
      await eventually(() => link.ready());
      const connectedAt = runs;
      await eventually(() => runs > connectedAt + 1);
      link.close();
      await eventually(() => warnings().length === 1);
    } finally {
      await reaping.stop();
      link.close();
    }
  });
});
