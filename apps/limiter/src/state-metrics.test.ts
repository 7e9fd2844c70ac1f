import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, type Db } from '@tidegate/db';
import { createRedisClient } from '@tidegate/redis';
import { createLogger, createMetrics, type Registry } from '@tidegate/runtime';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { anAdmitInput } from './testing/admit-input.ts';
import { connectDb, makeKey, makeOrg } from './testing/fixture.ts';
import { beatingInstance, Rig } from './testing/rig.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let rig: Rig;
let metrics: Registry;

beforeAll(async () => {
  postgres = await testPostgres();
  db = connectDb(postgres.url);
});
beforeEach(async () => {
  redis = await testRedis({ appendonly: true, cluster: false });
  rig = new Rig(redis.url, db);
  metrics = createMetrics('limiter');
});
afterEach(async () => {
  await rig.close();
  await redis.stop();
});
afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});

/** The value of a series. Null: it has no sample. */
async function sample(name: string, labels = ''): Promise<number | null> {
  const text = await metrics.metrics();
  const line = text
    .split('\n')
    .find((one) => (one.startsWith(`${name}{`) || one.startsWith(`${name} `)) && one.includes(labels));
  return line === undefined ? null : Number(line.split(' ').at(-1));
}

/** Resolves when a series has this value. A busy machine may read it too late for one scrape. */
const shows = (name: string, value: number) => eventually(async () => (await sample(name)) === value);

/** The locks of recovery and sweep last about as long as the time from one run to the next. */
const fast = { reapEveryMs: 50, recoverEveryMs: 2_000, sweepEveryMs: 2_000, sweepMinAgeMs: 0, graceMs: 0 };

describe('the metrics of a limiter', () => {
  it('show the stores, the leases, the chores and who does them', async () => {
    const limiter = await rig.limiter({ metrics, timing: fast });
    await beatingInstance(rig.session(limiter));
    await shows('tidegate_redis_up', 1);
    await shows('tidegate_postgres_up', 1);
    await shows('tidegate_redis_append_only', 1);
    await shows('tidegate_redis_evicts', 0);
    await shows('tidegate_limiter_leases', 1);
    const secondsAgo = async (chore: string) =>
      Date.now() / 1_000 - ((await sample('tidegate_limiter_chore_last_run_timestamp_seconds', chore)) ?? 0);
    for (const chore of ['reaper', 'sweep', 'recovery'])
      await eventually(async () => (await secondsAgo(chore)) < 60);
    await eventually(async () => (await sample('tidegate_limiter_chore_held', 'reaper')) === 1);
    await eventually(async () => (await sample('tidegate_limiter_outbox_oldest_seconds')) !== null);
  });

  it('show the age of what is unconfirmed, and time the decisions', async () => {
    const session = rig.session(await rig.limiter({ metrics, timing: fast }));
    const key = await makeKey(db, await makeOrg(db));
    const admit = anAdmitInput(key, await beatingInstance(session));
    await session.decide({ admit });
    await session.ask({
      settle: { ...admit, answered: false, errorCode: 'upstream_error', durationMs: 1 },
    });
    await eventually(async () => ((await sample('tidegate_limiter_outbox_oldest_seconds')) ?? 0) > 0);
    expect(await sample('tidegate_limiter_decision_seconds_count', 'call="admit"')).toBe(1);
  });

  it('show the organizations with the highest share of their month', async () => {
    const month = new Date().toISOString().slice(0, 7);
    const limits = { tokensPerMonth: 1_000, requestsPerMonth: 100 };
    const orgs = await Promise.all(Array.from({ length: 11 }, () => makeOrg(db, limits)));
    for (const [i, orgId] of orgs.entries())
      await db.monthTotal.create({ data: { orgId, month, requests: 1, chargedTokens: 100 + i } });
    await rig.limiter({ metrics, timing: fast });
    const shown = (orgId: string, quota: string) =>
      sample('tidegate_limiter_quota_used_ratio', `org="${orgId}",quota="${quota}"`);
    expect(await eventually(() => shown(orgs[10] as string, 'tokens'))).toBeCloseTo(0.11);
    expect(await eventually(() => shown(orgs[10] as string, 'requests'))).toBeCloseTo(0.01);
    expect(await shown(orgs[0] as string, 'tokens')).toBeNull();
  });

  it('say so when Redis is unavailable, and show no stale value', async () => {
    // The locks last long, so that only the loss of Redis ends what the metrics show.
    await rig.limiter({ metrics, timing: fast });
    await shows('tidegate_limiter_leases', 0);
    for (const name of ['recovering_organizations', 'outbox_oldest_seconds'])
      await eventually(async () => (await sample(`tidegate_limiter_${name}`)) !== null);
    await redis.kill();
    await shows('tidegate_redis_up', 0);
    await shows('tidegate_postgres_up', 1);
    expect(await sample('tidegate_limiter_leases')).toBeNull();
    for (const name of ['redis_append_only', 'redis_evicts', 'limiter_recovering_organizations'])
      expect(await sample(`tidegate_${name}`)).toBeNull();
    expect(await sample('tidegate_limiter_outbox_oldest_seconds')).toBeNull();
    await redis.restart();
  });
});

describe('the log of a limiter', () => {
  it('warns once of a Redis that loses data', async () => {
    let logged = '';
    const destination = {
      write: (line: string) => {
        logged += line;
      },
    };
    const lossy = await testRedis({ cluster: false });
    const client = createRedisClient(lossy.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const own = new Rig(lossy.url, db);
    try {
      await own.limiter({ logger: createLogger({ service: 'limiter', level: 'info', destination }) });
      const said = (words: string) => logged.split(words).length - 1;
      await eventually(() => said('may evict keys') === 1 && said('no append-only file') === 1);
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await eventually(() => said('Redis is available') > 1);
      expect([said('may evict keys'), said('no append-only file')]).toEqual([1, 1]);
    } finally {
      client.disconnect();
      await own.close();
      await lossy.stop();
    }
  });
});
