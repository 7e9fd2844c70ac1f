import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRedisConnection } from '@tidegate/redis';
import { eventually, freePort, TEST_ENV } from '@tidegate/testing';
import { Queue, Worker } from 'bullmq';

const PASSWORDS = {
  REDIS_PASSWORD: 'operator-of-this-test',
  LIMITER_PASSWORD: 'limiter-of-this-test',
  METERING_PASSWORD: 'metering-of-this-test',
  CTL_PASSWORD: 'ctl-of-this-test',
};
const USERS = {
  default: PASSWORDS.REDIS_PASSWORD,
  limiter: PASSWORDS.LIMITER_PASSWORD,
  metering: PASSWORDS.METERING_PASSWORD,
  ctl: PASSWORDS.CTL_PASSWORD,
};
type User = keyof typeof USERS;
const SERVICES = ['limiter', 'metering', 'ctl'] as const;
type Redis = ReturnType<typeof createRedisConnection>;
type Options = Parameters<typeof createRedisConnection>[1];
const QUEUE = { name: 'settlements', prefix: '{tg:queue}' };

let dir: string;
let server: ChildProcess;
let port: number;
const open: Redis[] = [];

/** @param login `user:password@`, or nothing */
function connectAs(login: string, options: Options): Redis {
  const redis = createRedisConnection(`redis://${login}127.0.0.1:${port}`, options);
  redis.on('error', () => {});
  open.push(redis);
  return redis;
}

const connect = (user: User, options: Options = {}): Redis => connectAs(`${user}:${USERS[user]}@`, options);
const ONCE: Options = { retryStrategy: () => null };

/** Starts Redis as compose does, with the data elsewhere. */
beforeAll(async () => {
  dir = mkdtempSync(join(process.env[TEST_ENV.directory] ?? '', 'redis-users-'));
  port = await freePort();
  for (const file of ['redis.sh', 'redis.acl']) cpSync(join(import.meta.dirname, file), join(dir, file));
  const config = readFileSync(join(import.meta.dirname, 'redis.conf'), 'utf8');
  writeFileSync(join(dir, 'redis.conf'), config.replace(/^dir .*$/m, `dir ${dir}`));
  const { command, libraryPath = '' } = JSON.parse(process.env[TEST_ENV.redis] ?? '');
  for (const folder of ['bin', 'memory']) mkdirSync(join(dir, folder));
  const program = `#!/bin/sh\nLD_LIBRARY_PATH='${libraryPath}' exec '${command}' "$@"\n`;
  writeFileSync(join(dir, 'bin/redis-server'), program, { mode: 0o755 });
  server = spawn('sh', [join(dir, 'redis.sh'), '--port', String(port), '--bind', '127.0.0.1'], {
    env: { PATH: `${join(dir, 'bin')}:${process.env.PATH}`, TMPDIR: join(dir, 'memory'), ...PASSWORDS },
    stdio: 'ignore',
  });
  const operator = connect('default');
  await eventually(() => operator.status === 'ready');
});
afterAll(async () => {
  for (const redis of open) redis.disconnect();
  server.kill();
  if (server.exitCode === null) await once(server, 'exit');
  rmSync(dir, { recursive: true });
});

describe("Redis' users", () => {
  it('are those of the file. Each has a password, kept as a hash in a private file', async () => {
    const names = (await connect('default').acl('USERS')) as string[];
    expect(names.sort()).toEqual(Object.keys(USERS).sort());
    const file = join(dir, 'memory/redis.acl');
    expect(statSync(file).mode & 0o077).toBe(0);
    for (const password of Object.values(PASSWORDS))
      expect(readFileSync(file, 'utf8')).not.toContain(password);
    for (const user of Object.keys(USERS) as User[]) {
      await expect(connectAs(`${user}:wrong@`, ONCE).ping()).rejects.toThrow('WRONGPASS');
      expect(await connect(user).ping()).toBe('PONG');
    }
  });

  it('do not include anyone without a password', async () => {
    const nobody = connectAs('', ONCE);
    await expect(nobody.ping()).rejects.toThrow('NOAUTH');
  });

  it.each(SERVICES)(
    'keep %s from keys and channels of others, and from every command that manages Redis',
    async (user) => {
      const refused = [
        ['GET', 'other'],
        ['SET', '{tg:other}:x', '1'],
        ['PUBLISH', 'other', 'x'],
        ['FLUSHALL'],
        ['FLUSHDB'],
        ['CONFIG', 'GET', '*'],
        ['CONFIG', 'SET', 'appendonly', 'no'],
        ['KEYS', '*'],
        ['RANDOMKEY'],
        ['DEBUG', 'SLEEP', '1'],
        ['SCRIPT', 'KILL'],
        ['SCRIPT', 'FLUSH'],
        ['FUNCTION', 'FLUSH'],
        ['ACL', 'LIST'],
        ['CLIENT', 'LIST'],
        ['CLIENT', 'KILL', 'ID', '1'],
        ['MONITOR'],
        ['SHUTDOWN', 'NOSAVE'],
        ['REPLICAOF', 'NO', 'ONE'],
        ['MODULE', 'LIST'],
        ['MIGRATE', '127.0.0.1', '1', 'x', '0', '1'],
        ['SORT', 'x'],
      ];
      const operator = connect('default');
      for (const words of refused)
        expect([words, await operator.acl('DRYRUN', user, ...(words as [string]))]).toEqual([
          words,
          expect.stringMatching(/no permissions/),
        ]);
      const script = connect(user).eval("return redis.call('GET', 'other')", 0);
      await expect(script).rejects.toThrow(/NOPERM|can't access|No permissions/);
    },
  );

  it.each(['metering', 'ctl'] as const)(
    'keep %s from the keys, the channels and the key names of the limiter',
    async (user) => {
      await connect('limiter').set('tg:{org}:key:x', '1');
      await expect(connect(user).get('tg:{org}:key:x')).rejects.toThrow('NOPERM');
      await expect(connect(user).publish('tg:notices', 'x')).rejects.toThrow('NOPERM');
      await expect(connect(user).scan(0)).rejects.toThrow('NOPERM');
    },
  );

  it('let ctl alone read month ledgers, outboxes and leases, and write none', async () => {
    const read = [
      ['ZRANGE', 'tg:instances', '0', '-1'],
      ['HGET', 'tg:{gw_1}:lease', 'beat_ms'],
      ['HGET', 'tg:{org}:org', 'in_flight'],
      ['XLEN', 'tg:{org}:outbox'],
      ['XRANGE', 'tg:{org}:outbox', '-', '+', 'COUNT', '1'],
      ['HGETALL', 'tg:{org}:month:2026-11'],
      ['TIME'],
    ];
    const write = [
      ['ZREM', 'tg:instances', 'x'],
      ['DEL', 'tg:{gw_1}:lease'],
      ['HSET', 'tg:{org}:org', 'in_flight', '0'],
      ['XADD', 'tg:{org}:outbox', '*', 'x', 'y'],
      ['DEL', 'tg:{org}:month:2026-11'],
    ];
    const dryRun = (user: string, words: readonly string[]) =>
      connect('default').acl('DRYRUN', user, ...(words as [string]));
    for (const words of read) expect([words, await dryRun('ctl', words)]).toEqual([words, 'OK']);
    for (const words of write) expect(await dryRun('ctl', words)).toMatch(/no permissions/);
    for (const words of read.slice(0, -1)) expect(await dryRun('metering', words)).toMatch(/no permissions/);
  });

  it('let the limiter run every command of its scripts', async () => {
    const lua = join(import.meta.dirname, '../apps/limiter/src');
    const files = readdirSync(lua, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.lua'),
    );
    const text = files.map((file) => readFileSync(join(lua, file), 'utf8')).join('\n');
    const used = new Set([...text.matchAll(/redis\.call\('(\w+)'/g)].map(([, command = '']) => command));
    expect(used.size).toBeGreaterThan(20);
    const redis = connect('default');
    for (const command of used) {
      const [[, arity] = []] = (await redis.call('COMMAND', 'INFO', command)) as [[string, number]];
      const keys = Array.from({ length: Math.abs(arity ?? 1) - 1 }, () => 'tg:x');
      expect([command, await redis.call('ACL', 'DRYRUN', 'limiter', command, ...keys)]).toEqual([
        command,
        'OK',
      ]);
    }
  });

  it('let the limiter await replicas', async () => {
    expect(await connect('default').acl('DRYRUN', 'limiter', 'WAIT', '1', '0')).toBe('OK');
  });

  it('bring a job from the limiter to metering, which tries again and gives up, and ctl replays it', async () => {
    const queue = (user: User) =>
      new Queue(QUEUE.name, { ...QUEUE, connection: connect(user), skipMetasUpdate: true });
    const [limiter, ctl] = [queue('limiter'), queue('ctl')];
    const operator = connect('default');
    await operator.acl('LOG', 'RESET');
    let fails = true;
    const worker = new Worker(
      QUEUE.name,
      async () => {
        if (fails) throw new Error('not now');
      },
      { ...QUEUE, connection: connect('metering', { maxRetriesPerRequest: null }), stalledInterval: 50 },
    );
    worker.on('error', () => {});
    try {
      await limiter.add('batch', {}, { jobId: 'one', attempts: 2, backoff: 10, removeOnComplete: true });
      await eventually(async () => (await ctl.getJobCounts('failed')).failed === 1);
      const [dead] = await ctl.getFailed();
      expect(await dead?.getState()).toBe('failed');
      fails = false;
      await dead?.retry('failed', { resetAttemptsMade: true });
      await eventually(async () => Object.values(await limiter.getJobCounts()).every((count) => count === 0));
      expect(await operator.acl('LOG')).toEqual([]);
    } finally {
      await worker.close();
      await limiter.close();
      await ctl.close();
    }
  });
});
