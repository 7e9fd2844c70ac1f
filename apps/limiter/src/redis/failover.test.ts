import { createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { closeDb, type Db } from '@tidegate/db';
import type { RunningRedisSentinel } from '@tidegate/embedded';
import { eventually, freePort, type TestPostgres, testPostgres, testRedisSentinel } from '@tidegate/testing';
import { anAdmitInput } from '../testing/admit-input.ts';
import { connectDb, makeKey, makeOrg, PATIENT_MS } from '../testing/fixture.ts';
import { beatingInstance, keepBeating, monthOfOrg, Rig } from '../testing/rig.ts';
import { createRedis } from './connection.ts';

let postgres: TestPostgres;
let db: Db;
let redis: RunningRedisSentinel;

beforeAll(async () => {
  postgres = await testPostgres();
  db = connectDb(postgres.url);
});
afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});
beforeEach(async () => {
  redis = await testRedisSentinel();
});
afterEach(() => redis.stop());

/** Ensures that the replica has everything written so far. */
async function replicated(url: string): Promise<void> {
  const master = createRedis(url, PATIENT_MS);
  await master.connect();
  await master.pipeline().set('last', '1').call('wait', '1', String(PATIENT_MS)).exec();
  master.disconnect();
}

it.each(['SIGKILL', 'SIGSTOP'] as const)(
  'the limiter follows the master that Sentinels name, and no state is lost, after %s',
  async (signal) => {
    const rig = new Rig(redis.url, db);
    // Only by waiting does a limiter find out that its Redis hangs.
    const answerTimeoutMs = signal === 'SIGSTOP' ? 2_000 : PATIENT_MS;
    const limiter = await rig.limiter({ timing: { answerTimeoutMs } });
    const session = rig.session(limiter);
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    const beats = keepBeating(session, instanceId);
    try {
      const first = anAdmitInput(key, instanceId);
      expect((await session.decide({ admit: first })).admitted).toBeTruthy();
      await replicated(redis.nodes[0].running.url);
      redis.nodes[0].running.kill(signal);
      await redis.setDownAfter(1_000);
      expect((await session.ask({ admit: anAdmitInput(key, instanceId) })).failed?.reason).toMatch(/^redis/);

      const settled = () => session.ask({ settle: { ...first, answered: true } });
      await eventually(async () => (await settled()).settle);
      await redis.until(redis.nodes[1], 'master');
      expect(await monthOfOrg(session, key.orgId)).toMatchObject({
        requests: 1,
        chargedTokens: 1_000,
        inFlight: 0,
      });
    } finally {
      beats.stop();
      await rig.close();
    }
  },
);

it('nothing is answered that would be lost at a takeover, if the master requires a replica', async () => {
  const [master, replica] = redis.nodes;
  const operator = createRedis(master.running.url, PATIENT_MS);
  await operator.connect();
  await operator.config('SET', 'min-replicas-to-write', 1);
  const rig = new Rig(redis.url, db);
  try {
    const session = rig.session(await rig.limiter({ timing: { answerTimeoutMs: 2_000 } }));
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(session);
    expect((await session.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();

    // For min-replicas-max-lag, 10 s, the master takes writes all the same.
    replica.running.kill('SIGSTOP');
    const unsafe = await session.ask({ admit: anAdmitInput(key, instanceId) });
    expect(unsafe.failed).toMatchObject({ reason: expect.stringMatching(/^redis/), notRun: false });

    replica.running.kill('SIGCONT');
    const decided = () => session.ask({ admit: anAdmitInput(key, instanceId) });
    await eventually(async () => (await decided()).admission?.admitted);
  } finally {
    operator.disconnect();
    await rig.close();
  }
});

it('every client finds the new master, whatever it was doing when Sentinels announced it', async () => {
  const clients = Array.from({ length: 60 }, () => createRedis(redis.url, PATIENT_MS));
  try {
    for (const client of clients) client.on('error', () => undefined);
    // Not awaited: this promise rejects with the first failed attempt, but others follow.
    for (const client of clients) void client.connect().catch(() => undefined);
    await eventually(() => clients.every(({ status }) => status === 'ready'));
    redis.nodes[0].running.kill('SIGKILL');
    await redis.setDownAfter(1_000);
    const roles = () => Promise.all(clients.map((client) => client.call('role')));
    await eventually(async () => (await roles()).every((role) => String(role).startsWith('master')));
  } finally {
    for (const client of clients) client.disconnect();
  }
});

it('a Sentinel that hangs is skipped', async () => {
  const held: Socket[] = [];
  const hung = createServer((socket) => held.push(socket));
  const port = await freePort();
  await new Promise<void>((resolve) => hung.listen(port, '127.0.0.1', resolve));
  const client = createRedis(redis.url.replace('//', `//127.0.0.1:${port},`), PATIENT_MS);
  client.on('error', () => undefined);
  try {
    // Not awaited: this would never settle if the client kept waiting for the hung Sentinel.
    void client.connect().catch(() => undefined);
    await eventually(() => client.status === 'ready');
    expect(await client.call('role')).toContain('master');
    expect(held).not.toEqual([]);
  } finally {
    client.disconnect();
    for (const socket of held) socket.destroy();
    hung.close();
  }
});
