import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { closeDb, type Db } from '@tidegate/db';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { Redis } from 'ioredis';
import { anAdmitInput } from './testing/admit-input.ts';
import { connectDb, makeKey, makeOrg } from './testing/fixture.ts';
import { beatingInstance, keepBeating, Rig } from './testing/rig.ts';
import { statistic } from './testing/statistic.ts';

/*
 * Counts what an idle limiter asks of Redis. The chores run faster than in production but in the
 * same proportions. Each command wakes two processes. A change that raises a ceiling must give its
 * reason in docs/performance.md.
 */
const INTERVAL_MS = 100;
const INTERVALS = 25;
const TIMING = {
  graceMs: 0,
  reapEveryMs: INTERVAL_MS,
  recoverEveryMs: 5 * INTERVAL_MS,
  sweepEveryMs: 5 * INTERVAL_MS,
};
/**
 * Commands of the reaper with one instance: time, lock, index and lease, including those its
 * scripts call.
 */
const COMMANDS_AN_INTERVAL = 8;
/** Commands of recovery and sweep with one organization, at about every fifth interval. */
const COMMANDS_A_ROUND = 16;
/** All commands of one interval travel together. */
const READS_A_TURN = 4;
/** Echoes and the test's own commands. */
const BACKGROUND = 20;

let postgres: TestPostgres;
let redis: TestRedis;
let client: Redis;
let db: Db;
let rig: Rig;

beforeAll(async () => {
  postgres = await testPostgres();
  db = connectDb(postgres.url);
  redis = await testRedis({ cluster: false });
  client = new Redis(redis.url);
  rig = new Rig(redis.url, db);
});

afterAll(async () => {
  client.disconnect();
  await rig.close();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

it('an idle limiter sends Redis only a few commands per interval, however many requests there were before', async () => {
  const session = rig.session(await rig.limiter({ timing: TIMING }));
  const key = await makeKey(db, await makeOrg(db));
  const instanceId = await beatingInstance(session);
  const beating = keepBeating(session, instanceId);
  for (let i = 0; i < 50; i++) {
    const admission = anAdmitInput(key, instanceId);
    expect((await session.decide({ admit: admission })).admitted).toBeTruthy();
    await session.ask({ withdraw: admission });
  }
  beating.stop();
  const reaperRuns = () => statistic(client, 'commandstats', /cmdstat_zscan:calls=(\d+)/g);
  const reaping = await reaperRuns();
  await eventually(async () => (await reaperRuns()) > reaping);
  await client.config('RESETSTAT');
  await eventually(async () => (await reaperRuns()) >= INTERVALS, { intervalMs: 10 * INTERVAL_MS });

  const done = await reaperRuns();
  // A busy machine delays the reaper more than these rounds, so they are counted separately.
  const rounds = await statistic(client, 'commandstats', /cmdstat_sscan:calls=(\d+)/g);
  const commands = await statistic(client, 'commandstats', /cmdstat_\S+:calls=(\d+)/g);
  const reads = await statistic(client, 'stats', /total_reads_processed:(\d+)/g);
  expect(commands).toBeLessThanOrEqual(COMMANDS_AN_INTERVAL * done + COMMANDS_A_ROUND * rounds + BACKGROUND);
  expect(reads).toBeLessThanOrEqual(READS_A_TURN * done + BACKGROUND);
});
