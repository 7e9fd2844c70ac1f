import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, testRedis } from '@tidegate/testing';
import type { StackOptions } from './options.ts';
import { startStack } from './stack.ts';
import { checkDatabaseUrl, checkRedisUrl } from './stores/given.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tidegate-refusals-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** In an empty checkout: stores and the database, and no service. */
const start = (options: StackOptions) =>
  startStack({ root: dataDir, dataDir, ports: 'random', demo: false, ...options });

/** What a person reads when it does not start: of an error that is shown without its stack trace. */
async function refused(started: Promise<unknown>): Promise<{ message: string; hint: string }> {
  const error = await started.then(
    () => undefined,
    (cause) => cause,
  );
  expect(error).toMatchObject({ name: 'Failure' });
  expect(JSON.stringify({ ...error, message: error.message })).not.toContain('hidden');
  return { message: error.message, hint: error.hint ?? '' };
}

const asRoot = process.platform === 'linux' && process.getuid?.() === 0 ? it : it.skip;

describe('a store that someone else runs', () => {
  it('and is not there is told by its variable, with what to do, before anything is started', async () => {
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

  it('and says nothing is given up', async () => {
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

  it.each(['hidden', 'mysql://me:hidden@host/x', 'postgresql://me:hidden@host:port/x'])(
    'needs an address that is one: not DATABASE_URL=%s',
    async (url) => {
      const { message, hint } = await refused(start({ databaseUrl: url }));
      expect(message).toBe('DATABASE_URL is not the address of a Postgres.');
      expect(hint).toContain('postgresql://user:password@host:5432/database');
    },
  );

  it.each(['hidden', 'http://hidden', 'redis+sentinel://:hidden@host'])(
    'needs an address that is one: not REDIS_URL=%s',
    async (url) => expect((await refused(start({ redisUrl: url }))).message).toMatch(/^REDIS_URL /),
  );

  it('and is a Redis without an append-only file is warned of, once', async () => {
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

describe('a data folder that cannot be used is told by the step and the cause', () => {
  asRoot('when it is full, with where else the data may be', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', dataDir]);
    try {
      const { message, hint } = await refused(start({}));
      expect(message).toBe('Postgres could not be set up: no space left on the device');
      expect(hint).toContain('--data-dir');
    } finally {
      execFileSync('umount', [dataDir]);
    }
  });

  it('when something else has its name', async () => {
    const file = join(dataDir, 'file');
    writeFileSync(file, '');
    const { message } = await refused(start({ dataDir: join(file, 'data') }));
    expect(message).toBe(
      `The data folder ${join(file, 'data')} cannot be used: not a directory (${join(file, 'data')})`,
    );
  });

  asRoot('when it, or something in it, is another user’s, with whose', async () => {
    chmodSync(dataDir, 0o755);
    const folder = join(dataDir, 'data');
    mkdirSync(folder, { mode: 0o700 });
    const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups'];
    const whole = await startedBy(nobody, folder);
    expect(whole).toMatch(/^Failure The data folder .*data cannot be used: permission denied \(/);
    expect(whole).toContain(`${folder} belongs to user 0; this is user 65534.`);
    chownSync(folder, 65_534, 65_534);
    mkdirSync(join(folder, 'redis'), { mode: 0o700 });
    const part = await startedBy(nobody, folder);
    expect(part).toContain(`Redis could not be set up: permission denied (${join(folder, 'redis')})`);
    expect(part).toContain(`${join(folder, 'redis')} belongs to user 0; this is user 65534.`);
  });

  asRoot(
    'and one that root makes may be passed, so that root needs few rights, and holds nothing to read',
    async () => {
      chmodSync(dataDir, 0o755);
      const folder = join(dataDir, 'data');
      expect(await startedBy(['--bounding-set=-setpcap'], folder)).toBe('started\n');
      expect(statSync(folder).mode & 0o777).toBe(0o711);
      for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
    },
  );
});

/** What a start says that is made by a process with these settings of `setpriv`. */
async function startedBy(settings: readonly string[], folder: string): Promise<string> {
  const built = new URL('../dist/index.js', import.meta.url).href;
  const options = JSON.stringify({ root: dataDir, dataDir: folder, ports: 'random', demo: false });
  const script = `const { startStack } = await import(${JSON.stringify(built)});
    await startStack(${options}).then(
      async (stack) => { await stack.stop(); console.log('started'); },
      ({ name, message, hint }) => console.log(name, message, hint),
    )`;
  const args = [...settings, process.execPath, '--input-type=module', '-e', script];
  return (await promisify(execFile)('setpriv', args)).stdout;
}
