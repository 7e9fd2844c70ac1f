import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EmbeddedError } from '@tidegate/embedded';
import { freePort, itOnLinux, itWhere, testPostgres, testRedis } from '@tidegate/testing';
import { explained } from './explain.ts';
import type { StackOptions } from './options.ts';
import { startStack } from './stack.ts';
import { checkDatabaseUrl, checkRedisUrl } from './stores/given.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tidegate-refusals-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Starts in an empty checkout: stores and the database, but no services. */
const start = (options: StackOptions) =>
  startStack({ root: dataDir, dataDir, ports: 'random', demo: false, ...options });

/** What users read when the start fails with an error that is shown without its stack trace. */
async function refused(started: Promise<unknown>): Promise<{ message: string; hint: string }> {
  const error = await started.then(
    () => undefined,
    (cause) => cause,
  );
  expect(error).toMatchObject({ name: 'Failure' });
  expect(JSON.stringify({ ...error, message: error.message })).not.toContain('hidden');
  return { message: error.message, hint: error.hint ?? '' };
}

const onLinux = itOnLinux(it);
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const asRoot = itWhere(it, isRoot, 'root on Linux');

describe('a store that someone else runs', () => {
  it('fails the start if it does not answer: names its variable, says what to do, starts nothing', async () => {
    const port = await freePort();
    const database = await refused(
      start({ databaseUrl: `postgresql://me:hidden@127.0.0.1:${port}/tidegate` }),
    );
    expect(database.message).toBe(
      `DATABASE_URL: no connection to Postgres at 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
    expect(database.hint).toContain('unset DATABASE_URL');
    const redis = await refused(start({ redisUrl: `redis://me:hidden@127.0.0.1:${port}` }));
    expect(redis.message).toMatch(
      new RegExp(`^REDIS_URL: no connection to Redis at 127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`),
    );
    expect(redis.hint).toContain('unset REDIS_URL');
    expect(() => readFileSync(join(dataDir, 'processes.json'))).toThrow(/ENOENT/);
  });

  it('is given up if it says nothing', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    try {
      const told = await Promise.all([
        refused(checkDatabaseUrl(`postgresql://me:hidden@${address}/tidegate`, 100)),
        refused(checkRedisUrl(`redis://me:hidden@${address}`, 100)),
      ]);
      expect(told.map(({ message }) => message)).toEqual([
        `DATABASE_URL: no connection to Postgres at ${address}: no answer within 0.1 s`,
        `REDIS_URL: no connection to Redis at ${address}: no answer within 0.1 s`,
      ]);
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });

  it('is refused if it is a Redis that is too old: names both versions', async () => {
    const info = 'redis_version:6.0.16\r\naof_enabled:1\r\n';
    const old = createServer((socket) =>
      // Answers each command so.
      socket.on('data', (sent) => {
        for (const _ of String(sent).matchAll(/^\*\d+\r$/gm)) socket.write(`$${info.length}\r\n${info}\r\n`);
      }),
    ).listen(0, '127.0.0.1');
    await once(old, 'listening');
    try {
      const url = `redis://127.0.0.1:${(old.address() as AddressInfo).port}`;
      expect(await refused(start({ redisUrl: url }))).toEqual({
        message: 'REDIS_URL: Redis 6.0.16 is too old: Tidegate needs version 6.2 or newer',
        hint: 'To use the built-in Redis instead, unset REDIS_URL.',
      });
    } finally {
      old.close();
    }
  });

  it.each(['hidden', 'mysql://me:hidden@host/x', 'postgresql://me:hidden@host:port/x'])(
    'needs a valid address: not DATABASE_URL=%s',
    async (url) => {
      const { message, hint } = await refused(start({ databaseUrl: url }));
      expect(message).toBe('DATABASE_URL is not the address of a Postgres server.');
      expect(hint).toContain('postgresql://user:password@host:5432/database');
    },
  );

  it.each(['hidden', 'http://hidden', 'redis+sentinel://:hidden@host'])(
    'needs a valid address: not REDIS_URL=%s',
    async (url) => expect((await refused(start({ redisUrl: url }))).message).toMatch(/^REDIS_URL /),
  );

  it('is warned of, once, if it is a Redis without an append-only file', async () => {
    for (const appendonly of [false, true]) {
      const redis = await testRedis({ appendonly });
      const warnings: string[] = [];
      try {
        const report = { warned: (text: string) => void warnings.push(text) };
        await (await start({ redisUrl: redis.url, report })).stop();
      } finally {
        await redis.stop();
      }
      expect(warnings).toEqual(
        appendonly ? [] : [expect.stringMatching(/REDIS_URL keeps no append-only file/)],
      );
    }
  });
});

describe('a data folder that cannot be used fails the start, which names the step and the cause', () => {
  onLinux('when it is full, and says where else the data may be', async () => {
    symlinkSync('/dev/full', join(dataDir, `launcher.pid.${process.pid}`));
    const { message, hint } = await refused(start({}));
    expect(message).toBe(`The data folder ${dataDir} cannot be used: no space left on the device`);
    expect(hint).toContain('--data-dir');
    const step = 'Postgres could not be set up: no space left on the device';
    expect(explained(new EmbeddedError(step), dataDir)).toMatchObject({ message: step, hint });
  });

  it('when its file system is read-only, whoever owns it', () => {
    const refusal = Object.assign(new Error(), { code: 'EROFS', syscall: 'mkdir', path: dataDir });
    expect(explained(refusal, dataDir)).toMatchObject({
      message: `The data folder ${dataDir} cannot be used: the file system is read-only (${dataDir})`,
      hint: expect.stringMatching(/^Make the file system of .* writable, or .*--data-dir/),
    });
  });

  it('when something else has its name', async () => {
    const file = join(dataDir, 'file');
    writeFileSync(file, '');
    const { message } = await refused(start({ dataDir: join(file, 'data') }));
    expect(message).toBe(
      `The data folder ${join(file, 'data')} cannot be used: not a directory (${join(file, 'data')})`,
    );
  });

  onLinux('when no folder can be made where it should be', async () => {
    const { message } = await refused(start({ dataDir: '/proc/tidegate/data' }));
    expect(message).toBe(
      'The data folder /proc/tidegate/data cannot be used: no such file or directory (/proc/tidegate)',
    );
  });

  asRoot('when it, or something in it, belongs to another user, and says to whom', async () => {
    const folder = join(dataDir, 'data');
    mkdirSync(folder, { mode: 0o700 });
    chownSync(folder, 65_534, 65_534);
    const whole = await startedWithoutOverride(folder);
    expect(whole).toMatch(/^Failure The data folder .*data cannot be used: permission denied \(/);
    expect(whole).toContain(`${folder} belongs to user 65534; this is user 0.`);
    chownSync(folder, 0, 0);
    mkdirSync(join(folder, 'redis'), { mode: 0o700 });
    chownSync(join(folder, 'redis'), 65_534, 65_534);
    const part = await startedWithoutOverride(folder);
    expect(part).toContain(`Redis could not be set up: permission denied (${join(folder, 'redis')})`);
    expect(part).toContain(`${join(folder, 'redis')} belongs to user 65534; this is user 0.`);
  });

  asRoot(
    'but not one that root creates: its Postgres can pass through, and others can read nothing in it',
    async () => {
      const folder = join(dataDir, 'data');
      await (await start({ dataDir: folder })).stop();
      expect(statSync(folder).mode & 0o777).toBe(0o711);
      for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
    },
  );
});

it('a start that fails removes the folders that it has made, and leaves those that were there', async () => {
  const databaseUrl = `postgresql://me:hidden@127.0.0.1:${await freePort()}/tidegate`;
  await refused(start({ dataDir: join(dataDir, 'made', 'deep'), databaseUrl }));
  expect(readdirSync(dataDir)).toEqual([]);
  mkdirSync(join(dataDir, 'logs'));
  await refused(start({ databaseUrl }));
  expect(readdirSync(dataDir)).toEqual(['logs']);
});

/**
 * The output of a start as a root without the right to write in other users' folders. Such a root
 * is like any other user who can read the checkout, wherever it is.
 */
async function startedWithoutOverride(folder: string): Promise<string> {
  const built = new URL('../dist/index.js', import.meta.url).href;
  const database = await testPostgres();
  const options = { root: dataDir, dataDir: folder, ports: 'random', demo: false, databaseUrl: database.url };
  const script = `const { startStack } = await import(${JSON.stringify(built)});
    await startStack(${JSON.stringify(options)}).then(
      async (stack) => { await stack.stop(); console.log('started'); },
      ({ name, message, hint }) => console.log(name, message, hint),
    )`;
  const limited = ['--bounding-set=-dac_override', process.execPath, '--input-type=module', '-e', script];
  try {
    return (await promisify(execFile)('setpriv', limited)).stdout;
  } finally {
    await database.drop();
  }
}
