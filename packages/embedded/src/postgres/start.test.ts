import { execFile, spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, freePort, isPidAlive, itOnLinux, itWhere } from '@tidegate/testing';
import pg from 'pg';
import { findPostgresBinaries, type PostgresBinaries } from './binaries.ts';
import { clearStaleLock } from './lock.ts';
import { type RunningPostgres, startPostgres } from './start.ts';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const settings = { fsync: 'off' };

let template: string;
let copied: Promise<string> | undefined;
let directory: string;
let dataDir: string;
let running: RunningPostgres | undefined;

beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), 'tidegate-postgres-'));
  const first = await startPostgres({ dataDir: join(template, 'data'), port: await freePort(), settings });
  await first.stop();
  await chmod(template, 0o755);
});
afterAll(() => rm(template, { recursive: true, force: true }));
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-postgres-'));
  dataDir = join(directory, 'data');
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await rm(directory, { recursive: true, force: true });
});

async function start(): Promise<RunningPostgres> {
  running = await startPostgres({ dataDir, port: await freePort(), settings });
  return running;
}

/**
 * Puts a copy of a database in place that was started and stopped before. Creating one takes a
 * second.
 */
const givenDatabase = (): Promise<unknown> =>
  promisify(execFile)('cp', ['-a', join(template, 'data'), dataDir]);

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Copies the server's programs and libraries, once for all tests. */
async function copyBinaries(): Promise<string> {
  const native = dirname(dirname((await findPostgresBinaries()).postgres));
  const folder = join(template, 'programs');
  await mkdir(folder);
  await cp(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return folder;
}

/** A copy of the programs in a folder with this mode. With 0700 only this user can enter. */
async function copiedBinaries(mode: number): Promise<PostgresBinaries> {
  copied ??= copyBinaries();
  const folder = await copied;
  await chmod(folder, mode);
  const bin = join(folder, 'native', 'bin');
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') };
}

const onLinux = itOnLinux(it);
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const asRoot = itWhere(it, isRoot, 'root on Linux');

describe('startPostgres', () => {
  it('keeps the data and the password through stop and start', async () => {
    await givenDatabase();
    const first = await start();
    await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
    await first.stop();
    expect(isPidAlive(first.pid)).toBe(false);
    const second = await start();
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
  });

  it('starts, and takes connections, whatever TLS the environment requires of other servers', async () => {
    await givenDatabase();
    const { PGSSLMODE } = process.env;
    process.env.PGSSLMODE = 'require';
    try {
      expect(await query((await start()).url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    } finally {
      if (PGSSLMODE === undefined) delete process.env.PGSSLMODE;
      else process.env.PGSSLMODE = PGSSLMODE;
    }
  });

  it('refuses a connection without the password', async () => {
    await givenDatabase();
    const url = new URL((await start()).url);
    url.password = 'wrong';
    await expect(query(url.toString(), 'SELECT 1')).rejects.toThrow('password authentication failed');
  });

  onLinux(
    'starts after kill -9 with what was committed, even if another process has the number in its lock file',
    async () => {
      await givenDatabase();
      const first = await start();
      await query(first.url, 'CREATE TABLE kept AS SELECT 1 AS n');
      process.kill(first.pid, 'SIGKILL');
      await first.exited;
      const { uid, gid } = await stat(dataDir);
      const other = spawn('sleep', ['300'], { uid, gid, stdio: 'ignore' });
      const lock = join(dataDir, 'postmaster.pid');
      const text = await readFile(lock, 'utf8');
      expect(text).toContain(String(first.pid));
      await writeFile(lock, text.replace(String(first.pid), String(other.pid)));
      const second = await start().finally(() => other.kill('SIGKILL'));
      expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 1 }]);
    },
  );

  it('starts over after a first start that was cut off', async () => {
    await mkdir(join(`${dataDir}.new`, 'data', 'base'), { recursive: true });
    expect(await query((await start()).url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  it('touches nothing in a directory that holds something else', async () => {
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'thesis.txt'), 'all of it');
    await expect(start()).rejects.toThrow(`${dataDir} is neither empty nor a Tidegate database`);
    expect(await readFile(join(dataDir, 'thesis.txt'), 'utf8')).toBe('all of it');
  });

  it('starts where only this user may enter, and where everybody may', async () => {
    await chmod(directory, 0o700);
    await (await start()).stop();
    await chmod(directory, 0o755);
    await start();
  });

  it('starts and starts again where its programs, too, are closed to every other user', async () => {
    const options = { dataDir, settings, binaries: await copiedBinaries(0o700) };
    running = await startPostgres({ ...options, port: await freePort() });
    await running.stop();
    running = await startPostgres({ ...options, port: await freePort() });
    expect(await query(running.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  it('starts where a link leads below a folder that only this user may enter', async () => {
    await mkdir(join(directory, 'closed', 'open'), { recursive: true });
    await chmod(join(directory, 'closed'), 0o700);
    await chmod(directory, 0o755);
    await symlink(join(directory, 'closed', 'open'), join(directory, 'link'));
    dataDir = join(directory, 'link', 'data');
    await start();
  });

  asRoot(
    'lets Postgres keep one capability of root where a folder is closed: to read, or a stronger one if root lacks that',
    async () => {
      const rightsOf = async (pid: number | 'self') =>
        Number(`0x${/^CapEff:\s*(\w+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]}`);
      const [override, readSearch] = [1 << 1, 1 << 2];
      await givenDatabase();
      const mayRead = (BigInt(await rightsOf('self')) & BigInt(readSearch)) !== 0n;
      expect(await rightsOf((await start()).pid)).toBe(mayRead ? readSearch : override);
    },
  );

  asRoot.each([
    [
      'setpcap',
      /closed to the user it would run as\. Entering it needs CAP_SETPCAP, which this process lacks\. Make the directory searchable/,
    ],
    ['setuid', /^Postgres does not run as root, .* without CAP_SETUID: start as another user/],
    ['dac_override', /^Postgres does not run as root, .* without CAP_DAC_OVERRIDE: start as another user/],
    ['kill', /^Postgres does not run as root, .* without CAP_KILL: start as another user/],
  ])('says in a sentence what to do when root lacks %s', async (capability, message) => {
    const options = JSON.stringify({ dataDir, port: await freePort(), settings });
    const source = `import { startPostgres } from '@tidegate/embedded';
      await startPostgres(${options}).catch(({ message }) => process.stdout.write(message))`;
    const limited = [
      '--bounding-set',
      `-${capability}`,
      process.execPath,
      '--input-type=module',
      '-e',
      source,
    ];
    const { stdout } = await promisify(execFile)('setpriv', limited, { cwd: PACKAGE });
    expect(stdout).toMatch(message);
    expect(stdout).not.toContain('\n');
  });

  asRoot('starts without CAP_SETPCAP where everybody may enter every folder', async () => {
    await chmod(directory, 0o755);
    // The checkout itself may be in a closed folder.
    const binaries = await copiedBinaries(0o755);
    const options = JSON.stringify({ dataDir, port: await freePort(), settings, binaries });
    const source = `import { startPostgres } from '@tidegate/embedded';
      const running = await startPostgres(${options});
      await running.stop();
      process.stdout.write('started')`;
    const limited = ['--bounding-set', '-setpcap', process.execPath, '--input-type=module', '-e', source];
    const { stdout } = await promisify(execFile)('setpriv', limited, { cwd: PACKAGE });
    expect(stdout).toBe('started');
  });

  it('says first that a file is where a folder should be', async () => {
    await writeFile(join(directory, 'file'), '');
    dataDir = join(directory, 'file', 'data');
    await expect(start()).rejects.toThrow(/^Postgres could not be set up: not a directory \(.*\)$/);
  });

  onLinux('says first that there is no space left', async () => {
    const initdb = join(directory, 'initdb');
    await writeFile(initdb, '#!/bin/sh\nLC_ALL=C head -c 1 /dev/zero >/dev/full\n', { mode: 0o755 });
    const binaries = { ...(await findPostgresBinaries()), initdb };
    const full = startPostgres({ dataDir, port: await freePort(), settings, binaries });
    await expect(full).rejects.toMatchObject({
      message: 'Postgres could not be set up: no space left on the device',
      output: expect.stringContaining('No space left on device'),
    });
  });

  asRoot('says who owns its data when that is not the user it would run as', async () => {
    await givenDatabase();
    await promisify(execFile)('chown', ['-R', '0', dataDir]);
    const refused =
      /^Postgres could not be set up: its data in .* belongs to root, but it would run as \w+\. To fix this: (.*)$/;
    const message = await start().then(
      () => 'started',
      (error: Error) => error.message,
    );
    expect(message).toMatch(refused);
    await promisify(execFile)('sh', ['-c', refused.exec(message)?.[1] ?? '']);
    await start();
  });

  asRoot('says first to start as the user who owns its data', async () => {
    await givenDatabase();
    await promisify(execFile)('chown', ['-R', '54321', dataDir]);
    await expect(start()).rejects.toThrow(
      /belongs to user 54321, .*\. Start Tidegate as user 54321\. To start it as root/,
    );
  });

  it('names the port that is taken', async () => {
    await givenDatabase();
    const taken = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
    const expected = `Postgres cannot start: port ${port} of 127.0.0.1 is taken by another process`;
    await expect(startPostgres({ dataDir, port, settings })).rejects.toThrow(expected);
    await new Promise((resolve) => taken.close(resolve));
  });

  it('leaves alone a server that another start owns', async () => {
    await givenDatabase();
    const { pid, url } = await start();
    const second = startPostgres({ dataDir, port: await freePort(), settings });
    await expect(second).rejects.toThrow(`${dataDir} is in use by process ${pid}`);
    expect(await query(url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
  });

  it('reports what the server said when it cannot start', async () => {
    await givenDatabase();
    const wrong = startPostgres({ dataDir, port: await freePort(), settings: { nonsense: 'on' } });
    await expect(wrong).rejects.toThrow('unrecognized configuration parameter "nonsense"');
  });

  it('ends an orphaned server whose owner is gone, before it starts', async () => {
    await mkdir(dataDir);
    const owner = spawn('true', { stdio: 'ignore' });
    await new Promise((resolve) => owner.once('close', resolve));
    const orphan = spawn('sleep', ['300'], { cwd: dataDir, detached: true, stdio: 'ignore' });
    const ended = new Promise((resolve) => orphan.once('close', (_, signal) => resolve(signal)));
    await writeFile(join(dataDir, 'postmaster.pid'), `${orphan.pid}\n`);
    await writeFile(join(dataDir, 'tidegate.owner'), `${owner.pid}\n`);
    await clearStaleLock(dataDir);
    expect(await ended).toBe('SIGINT');
    await expect(readFile(join(dataDir, 'postmaster.pid'))).rejects.toThrow('ENOENT');
  });

  onLinux('ends with its owner, even if the owner is killed without warning', async () => {
    await givenDatabase();
    const options = JSON.stringify({ dataDir, port: await freePort(), settings });
    const source = `import { startPostgres } from '@tidegate/embedded';
      console.log((await startPostgres(${options})).pid)`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', source], { cwd: PACKAGE });
    const pid = await new Promise<number>((resolve) =>
      owner.stdout.once('data', (data) => resolve(Number(data))),
    );
    expect(isPidAlive(pid)).toBe(true);
    owner.kill('SIGKILL');
    await eventually(() => !isPidAlive(pid));
  });
});
