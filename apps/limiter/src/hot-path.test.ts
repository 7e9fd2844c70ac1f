import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SETTLEMENT_QUEUE, settlementQueuePrefix } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { Redis } from 'ioredis';
import { anAdmission } from './testing/admission.ts';
import { connectDb, makeKey, makeOrg } from './testing/fixture.ts';
import { beatingInstance, Rig } from './testing/rig.ts';

/*
 * What a request costs Redis, by counting: machines differ, counts do not. A change that raises a ceiling says why in
 * docs/performance.md.
 */
const REQUESTS = 200;
/** TIME to HSET in admit.lua and settle.lua. */
const COMMANDS_A_REQUEST = 24;
/** Heartbeats, locks, echoes and the queue's own, while the test runs. */
const BACKGROUND = 100;

let postgres: TestPostgres;
let redis: TestRedis;
let client: Redis;
let db: Db;
let rig: Rig;

beforeAll(async () => {
  postgres = await testPostgres();
  db = connectDb(postgres.url);
});

beforeEach(async () => {
  redis = await testRedis({ appendonly: true, cluster: false });
  client = new Redis(redis.url);
  rig = new Rig(redis.url, db);
});

afterEach(async () => {
  client.disconnect();
  await rig.close();
  await redis.stop();
});

afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});

async function statistic(section: string, pattern: RegExp): Promise<number> {
  const info = await client.info(section);
  return [...info.matchAll(pattern)].reduce((sum, [, count]) => sum + Number(count), 0);
}

describe('the hot path', () => {
  it('stays within its ceilings of commands, round trips and jobs', async () => {
    const session = rig.session(await rig.limiter());
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    const admissions = Array.from({ length: REQUESTS }, () => anAdmission(key, instanceId));
    // What is read from Postgres once is not part of a request.
    const first = anAdmission(key, instanceId);
    expect((await session.decide({ admit: first })).admitted).toBeTruthy();
    await client.config('RESETSTAT');

    const admitted = await Promise.all(admissions.map((admit) => session.decide({ admit })));
    for (const outcome of admitted) expect(outcome.admitted).toBeTruthy();
    const readsOfAdmit = await statistic('stats', /total_reads_processed:(\d+)/g);
    await Promise.all(
      admissions.map((admission) => session.ask({ settle: { ...admission, answered: true } })),
    );

    const scripts = await statistic('commandstats', /cmdstat_evalsha:calls=(\d+)/g);
    const commands = await statistic('commandstats', /cmdstat_\S+:calls=(\d+)/g);
    expect(scripts).toBeGreaterThanOrEqual(2 * admissions.length);
    expect(commands - scripts).toBeLessThanOrEqual(COMMANDS_A_REQUEST * admissions.length + BACKGROUND);
    // All of a turn's admissions share pipelines.
    expect(readsOfAdmit).toBeLessThan(admissions.length / 2);

    const queue = `${settlementQueuePrefix('tg:')}:${SETTLEMENT_QUEUE}`;
    await eventually(async () => (await client.llen(`${queue}:wait`)) > 0);
    expect(await client.llen(`${queue}:wait`)).toBeLessThanOrEqual(3);
  });
});
