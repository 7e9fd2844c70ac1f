import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newInstanceId, newOrgId } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { createLogger } from '@tidegate/runtime';
import { eventually, freePort, type TestRedis, testRedis } from '@tidegate/testing';
import { Admissions } from '../admission/admissions.ts';
import { takeLargeBody } from '../admission/large-body.ts';
import type { Context } from '../context.ts';
import { LimiterClock } from '../redis/clock.ts';
import { createRedisLink } from '../redis/link.ts';
import { Lock } from '../redis/lock.ts';
import { Store } from '../redis/store.ts';
import { connectDb, openStore, ROOMY_PLAN, type TestStore } from '../testing/fixture.ts';
import { putOrg } from '../testing/org.ts';
import { Truth } from '../truth/truth.ts';
import { beat, joinOrg } from './lease.ts';
import { Leases } from './leases.ts';
import { Reaper, type ReaperOptions, type Watch } from './reaper.ts';
import { startReaper } from './watch.ts';

const LEASE_MS = 8_000;
const GRACE_MS = 8_000;
const HOUR_MS = 3_600_000;
const LONG_AFTER_MS = 60_000;
const always: Watch = { look: () => {}, over: () => true };
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

/**
 * The context of a limiter whose process clock is wrong, with limiter time shifted by `laterMs`.
 */
const contextOf = (wrongByMs: number, laterMs = 0): Context => ({
  ...test.contextAt(laterMs),
  clock: new LimiterClock(laterMs, () => Date.now() + wrongByMs),
});

function reaperOf(context: Context, more: Partial<ReaperOptions> = {}): Reaper {
  const truth = new Truth(context, nowhere);
  return new Reaper({
    ...context,
    admissions: new Admissions({ ...context, truth, leases: new Leases(context), onSettled: () => {} }),
    lock: new Lock(context.store, context.names.reaperLock, 'lim_test', 5_000),
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
async function holding(context: Context, orgs: number): Promise<{ instanceId: string; orgIds: string[] }> {
  const instanceId = newInstanceId();
  const orgIds = Array.from({ length: orgs }, () => newOrgId());
  await beat(context, instanceId, false);
  await Promise.all(
    orgIds.map(async (orgId) => {
      await putOrg(context, { orgId, version: 1, ...ROOMY_PLAN });
      await joinOrg(context, instanceId, orgId);
      const taken = await takeLargeBody(context, { orgId, instanceId, admissionId: 'req_held' }, false);
      expect(taken).toBe('taken');
    }),
  );
  return { instanceId, orgIds };
}

const largeIn = (orgId: string) => test.redis.hget(test.names.org(orgId), 'large');

describe('whether an instance is dead', () => {
  it.each([
    [HOUR_MS, -HOUR_MS],
    [-HOUR_MS, HOUR_MS],
  ])(
    'is told by the clock of Redis alone: a heartbeat by one that is %i ms ahead, reaped by one %i ms',
    async (beats, reaps) => {
      const { instanceId, orgIds } = await holding(contextOf(beats), 1);
      expect(await reaperOf(contextOf(reaps)).turn(always)).toEqual([]);
      expect(await largeIn(orgIds[0] ?? '')).toBe('1');
      expect(await reaperOf(contextOf(reaps, LEASE_MS + 1_000)).turn(always)).toEqual([instanceId]);
      expect(await largeIn(orgIds[0] ?? '')).toBe('0');
    },
  );

  it('is not told before it could beat, nor, once its lease was lost, before it could beat again', async () => {
    const context = contextOf(0);
    const instanceId = newInstanceId();
    await test.redis.zadd(test.names.instances, 0, instanceId);
    expect(await reaperOf(context).turn(always)).toEqual([]);
    expect(await beat(context, instanceId, false)).toBe('alive');
    expect(await test.redis.ttl(test.names.lease(instanceId))).toBeGreaterThan(LEASE_MS / 1_000);
    await test.redis.del(test.names.lease(instanceId));
    expect(await reaperOf(context).turn(always)).toEqual([]);
    expect(await beat(context, instanceId, true)).toBe('forgotten');
    expect(await test.redis.ttl(test.names.lease(instanceId))).toBeGreaterThan(LEASE_MS / 1_000);
    expect(await reaperOf(contextOf(0, LEASE_MS + 1_000)).turn(always)).toEqual([instanceId]);
  });

  it('is asked of every instance, however many there are', async () => {
    const context = contextOf(0);
    const instanceIds = Array.from({ length: 300 }, () => newInstanceId());
    await Promise.all(instanceIds.map((instanceId) => beat(context, instanceId, false)));
    expect(await reaperOf(context).turn(always)).toEqual([]);
    const gone = await reaperOf(contextOf(0, LEASE_MS + 1_000)).turn(always);
    expect(instanceIds.filter((instanceId) => !gone.includes(instanceId))).toHaveLength(0);
  });
});

describe('what a dead instance left', () => {
  it('in many organizations is ended in many at a time, and what fails in one of them stays until it can be', async () => {
    const { instanceId, orgIds } = await holding(contextOf(0), 120);
    const another = await holding(contextOf(0), 1);
    const broken = test.names.voids(orgIds[7] ?? '', instanceId);
    await test.redis.set(broken, 'not a sorted set');
    let pipelines = 0;
    const store = new Store({ shards: test.shards, onPipeline: () => pipelines++ });
    const look = jest.fn();
    const reaper = reaperOf({ ...contextOf(0, LONG_AFTER_MS), store });
    expect(await reaper.turn({ ...always, look })).toEqual([another.instanceId]);
    expect(failed).toEqual([instanceId]);
    expect(await test.redis.smembers(test.names.orgsOf(instanceId))).toEqual([orgIds[7]]);
    expect(await Promise.all([...orgIds, ...another.orgIds].map(largeIn))).toEqual(
      [...orgIds, ...another.orgIds].map((_, i) => (i === 7 ? '1' : '0')),
    );
    expect(pipelines).toBeLessThan(orgIds.length / 2);
    // Called for the page and then for each chunk, so that a long turn does not count as a
    // standstill.
    expect(look.mock.calls.length).toBeGreaterThan(3);

    await test.redis.del(broken);
    expect(await reaper.turn(always)).toEqual([instanceId]);
    expect(await largeIn(orgIds[7] ?? '')).toBe('0');
  });

  it('is left alone once the limiter may not go on', async () => {
    const { orgIds } = await holding(contextOf(0), 120);
    let looks = 0;
    const twice: Watch = { look: () => looks++, over: () => looks < 3 };
    expect(await reaperOf(contextOf(0, LONG_AFTER_MS)).turn(twice)).toEqual([]);
    const left = await Promise.all(orgIds.map(largeIn));
    expect(new Set(left)).toEqual(new Set(['0', '1']));
  });

  it('is ended though the server of another lease is away, which then gets the time to report', async () => {
    const [kept, dead] = [await holding(contextOf(0), 1), await holding(contextOf(0), 1)];
    const lease = test.names.lease(kept.instanceId);
    const reaper = reaperOf(contextOf(0, LONG_AFTER_MS));
    expect(await reaper.turn({ ...always, over: (key) => key !== lease })).toEqual([dead.instanceId]);
    expect(await largeIn(kept.orgIds[0] ?? '')).toBe('1');
    expect(failed).toEqual([]);
    expect(await reaper.turn({ ...always, over: (key) => key !== test.names.instances })).toEqual([]);
    expect(await reaper.turn(always)).toEqual([kept.instanceId]);
  });

  it('is ended though another cannot be fenced, which then gets the time to report', async () => {
    const context = contextOf(0);
    const [unwell, dead] = [await holding(context, 1), await holding(context, 1)];
    const lease = test.names.lease(unwell.instanceId);
    const aside = `${lease}:aside`;
    await test.redis.rename(lease, aside);
    await test.redis.set(lease, 'not a hash');
    const clock = { ms: 0 };
    const reaper = reaperOf(contextOf(0, LONG_AFTER_MS), { nowMs: () => clock.ms });
    expect(await reaper.turn(always)).toEqual([dead.instanceId]);
    expect(failed).toEqual([unwell.instanceId]);

    await test.redis.rename(aside, lease);
    clock.ms = GRACE_MS - 1;
    expect(await reaper.turn(always)).toEqual([]);
    expect(await beat(context, unwell.instanceId, true)).toBe('alive');
    clock.ms = GRACE_MS;
    expect(await reaper.turn(always)).toEqual([unwell.instanceId]);
  });
});

describe('with the index of instances away', () => {
  const withoutIndex = (): Context => {
    const of = (key: string | null) => (key === test.names.instances ? null : test.shards.of(key));
    const shards = Object.assign(Object.create(test.shards), { of }) as TestStore['shards'];
    return { ...contextOf(0), store: new Store({ shards }) };
  };

  it('an instance keeps its lease and what it holds, but joins nothing that would not find it again', async () => {
    const { instanceId, orgIds } = await holding(contextOf(0), 1);
    const context = withoutIndex();
    await test.redis.hset(test.names.lease(instanceId), 'beat_ms', 1);
    expect(await beat(context, instanceId, true)).toBe('alive');
    const [orgId = ''] = orgIds;
    const held = { orgId, instanceId, admissionId: 'req_more' };
    expect(await takeLargeBody(context, held, false)).toBe('taken');
    expect(await reaperOf(contextOf(0)).turn(always)).toEqual([]);

    const elsewhere = newOrgId();
    await putOrg(context, { orgId: elsewhere, version: 1, ...ROOMY_PLAN });
    await expect(joinOrg(context, instanceId, elsewhere)).rejects.toThrow('away');
    expect(await takeLargeBody(context, { ...held, orgId: elsewhere }, false)).toBe('need_join');
  });
});

describe("a limiter's idea of Redis' time", () => {
  it('is soon right, whatever the clock of its process says', async () => {
    const logger = createLogger({ service: 'limiter', level: 'silent' });
    const link = createRedisLink(redis.url, logger);
    const context = contextOf(-HOUR_MS, LEASE_MS);
    link.open();
    const reaper = reaperOf(context);
    const reaping = startReaper({ context, reaper, link, graceMs: HOUR_MS, everyMs: 20, logger });
    try {
      await eventually(() => Math.abs(context.clock.nowMs() - LEASE_MS - Date.now()) < HOUR_MS / 60);
    } finally {
      await reaping.stop();
      link.close();
    }
  });
});
