import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SETTLEMENT_QUEUE, settlementQueuePrefix } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { Registry } from '@tidegate/runtime';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { Redis } from 'ioredis';
import { anAdmitInput } from './testing/admit-input.ts';
import { connectDb, makeKey, makeOrg } from './testing/fixture.ts';
import { beatingInstance, Rig } from './testing/rig.ts';
import { statistic } from './testing/statistic.ts';

/*
 * Counts what a request costs Redis: timings differ between machines, counts do not. A change that
 * raises a ceiling must give its reason in docs/performance.md.
 */
const REQUESTS = 200;
/** The commands that admit.lua and settle.lua call, if they are run for many requests at once. */
const COMMANDS_A_REQUEST = 2;
/** Requests that come one by one. Each is counted on its own. */
const LONE_REQUESTS = 40;
const COMMANDS_A_LONE_REQUEST = 24;
/** Heartbeats, locks, echoes and the queue's own commands during the test. */
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

describe('the hot path', () => {
  it('stays within its bounds of commands, round trips and jobs', async () => {
    const session = rig.session(await rig.limiter());
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    const admissions = Array.from({ length: REQUESTS }, () => anAdmitInput(key, instanceId));
    // Exclude what is read from Postgres only once.
    const first = anAdmitInput(key, instanceId);
    expect((await session.decide({ admit: first })).admitted).toBeTruthy();
    await client.config('RESETSTAT');

    const admitted = await Promise.all(admissions.map((admit) => session.decide({ admit })));
    for (const outcome of admitted) expect(outcome.admitted).toBeTruthy();
    const readsOfAdmit = await statistic(client, 'stats', /total_reads_processed:(\d+)/g);
    await Promise.all(
      admissions.map((admission) => session.ask({ settle: { ...admission, answered: true } })),
    );

    const scripts = await statistic(client, 'commandstats', /cmdstat_evalsha:calls=(\d+)/g);
    const commands = await statistic(client, 'commandstats', /cmdstat_\S+:calls=(\d+)/g);
    expect(scripts).toBeLessThan(admissions.length / 4);
    expect(commands - scripts).toBeLessThanOrEqual(COMMANDS_A_REQUEST * admissions.length + BACKGROUND);
    // All admissions of one turn share pipelines.
    expect(readsOfAdmit).toBeLessThan(admissions.length / 2);

    const queue = `${settlementQueuePrefix('tg:')}:${SETTLEMENT_QUEUE}`;
    await eventually(async () => (await client.llen(`${queue}:wait`)) > 0);
    expect(await client.llen(`${queue}:wait`)).toBeLessThanOrEqual(3);
  });

  it('of a lone request takes one round trip to Redis and one reply for each of its two calls', async () => {
    const metrics = new Registry();
    const session = rig.session(await rig.limiter({ metrics }));
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    const roundTrips = async () =>
      Number(/^tidegate_limiter_redis_seconds_count (\d+)$/m.exec(await metrics.metrics())?.[1]);
    const serve = async () => {
      const admission = anAdmitInput(key, instanceId);
      expect(await session.decide({ admit: admission })).toMatchObject({ outcome: 'admitted' });
      await session.ask({ settle: { ...admission, answered: true } });
    };
    // Exclude what is read from Postgres only once.
    await serve();
    const costs: { commands: number; roundTrips: number; messages: number }[] = [];
    for (let i = 0; i < LONE_REQUESTS; i++) {
      // All of them may take longer than a lease lasts.
      await session.ask({ heartbeat: { instanceId } });
      const before = await roundTrips();
      const messagesBefore = session.messages;
      await client.config('RESETSTAT');
      await serve();
      const ofScripts = /cmdstat_(?!evalsha|config|info)\S+:calls=(\d+)/g;
      const commands = await statistic(client, 'commandstats', ofScripts);
      const messages = session.messages - messagesBefore;
      costs.push({ commands, messages, roundTrips: (await roundTrips()) - before });
    }
    expect(costs.map(({ messages }) => messages)).toEqual(Array(LONE_REQUESTS).fill(2));
    // The least is what a request itself costs. Heartbeats and chores add to the others.
    const least = (of: (cost: (typeof costs)[number]) => number) => Math.min(...costs.map(of));
    expect(least(({ commands }) => commands)).toBeLessThanOrEqual(COMMANDS_A_LONE_REQUEST);
    // One for each call, and one for the metrics.
    expect(least((cost) => cost.roundTrips)).toBe(3);
  });
});
