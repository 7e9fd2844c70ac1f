import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { closeDb, type Db } from '@tidegate/db';
import { diesWithParent, type RedisServer, type RunningRedis, startRedis } from '@tidegate/embedded';
import { createRedisConnection } from '@tidegate/redis';
import { eventually, freePort, TEST_ENV, type TestPostgres, testPostgres } from '@tidegate/testing';
import { anAdmission } from '../testing/admission.ts';
import { connectDb, makeKey, makeOrg } from '../testing/fixture.ts';
import { beatingInstance, keepBeating, monthOfOrg, Rig } from '../testing/rig.ts';

const server = JSON.parse(process.env[TEST_ENV.redis] ?? '{}') as RedisServer;
let dir: string;
let postgres: TestPostgres;
let db: Db;
let servers: [RunningRedis, RunningRedis];
let sentinel: ChildProcess;
let sentinelPort: number;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tidegate-sentinel-'));
  const start = async (name: string) => startRedis({ server, dir: join(dir, name), port: await freePort() });
  servers = await Promise.all([start('a'), start('b')]);
  const [master, replica] = servers;
  await at(replica, (redis) => redis.replicaof('127.0.0.1', master.port));
  await eventually(() =>
    at(replica, async (redis) => /link_status:up/.test(await redis.info('replication'))),
  );
  postgres = await testPostgres();
  db = connectDb(postgres.url);
  sentinelPort = await freePort();
  sentinel = await startSentinel(master.port);
});

afterAll(async () => {
  sentinel.kill('SIGKILL');
  await once(sentinel, 'exit');
  await Promise.all(servers.map((redis) => redis.stop()));
  await closeDb(db);
  await postgres.drop();
  await rm(dir, { recursive: true, force: true });
});

async function startSentinel(masterPort: number): Promise<ChildProcess> {
  const file = join(dir, 'sentinel.conf');
  const lines = [
    `port ${sentinelPort}`,
    'bind 127.0.0.1',
    `sentinel monitor main 127.0.0.1 ${masterPort} 1`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 2000',
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const { command, args, options } = await diesWithParent({
    command: server.command,
    args: [file, '--sentinel'],
    options: { stdio: 'ignore', cwd: dir },
  });
  return spawn(command, [...args], options);
}

async function at<T>({ url }: RunningRedis, ask: (redis: ReturnType<typeof createRedisConnection>) => T) {
  const redis = createRedisConnection(url);
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

it('the limiter follows the master that Sentinels name, with all it held', async () => {
  const [master, replica] = servers;
  await eventually(() =>
    at({ url: `redis://127.0.0.1:${sentinelPort}` } as RunningRedis, async (redis) =>
      /slaves=1/.test(await redis.info('sentinel')),
    ),
  );
  const rig = new Rig(`redis+sentinel://127.0.0.1:${sentinelPort}/main`, db);
  const limiter = await rig.limiter();
  const session = rig.session(limiter);
  const key = await makeKey(db, await makeOrg(db));
  const instanceId = await beatingInstance(session);
  const beats = keepBeating(session, instanceId);
  try {
    const first = anAdmission(key, instanceId);
    expect((await session.decide({ admit: first })).admitted).toBeTruthy();
    master.kill('SIGKILL');
    await master.exited;
    expect((await session.ask({ admit: anAdmission(key, instanceId) })).failed?.reason).toMatch(/^redis/);

    const settled = () => session.ask({ settle: { ...first, answered: true } });
    await eventually(async () => (await settled()).settle, { timeoutMs: 60_000 });
    expect(await at(replica, (redis) => redis.role())).toContain('master');
    expect(await monthOfOrg(session, key.orgId)).toMatchObject({
      requests: 1,
      chargedTokens: 1_000,
      inFlight: 0,
    });
  } finally {
    beats.stop();
    await rig.close();
  }
});
