import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { identify } from '@tidegate/processes';
import { freePort, itOnLinux } from '@tidegate/testing';

const INFRA = import.meta.dirname;
const onLinux = itOnLinux(it);

let root: string;
/** This file is written when the set-up installs packages. */
let installed: string;

/** A checkout that was built, but whose packages differ from its lock file. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-start-'));
  installed = join(root, 'installed');
  const processes = ['dist', 'package.json'].map((part) => `packages/processes/${part}`);
  const launcher = ['start.mjs', 'ctl.mjs', 'setup', 'local/dist', 'local/package.json'].map(
    (part) => `infra/${part}`,
  );
  for (const part of [...launcher, ...processes])
    cpSync(join(INFRA, '..', part), join(root, part), { recursive: true });
  writeFileSync(join(root, 'package-lock.json'), '{"packages":{"node_modules/x":{"version":"1.0.0"}}}');
  npmThatSays('');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** An npm that prints this and fails. */
const npmThatSays = (text: string): void =>
  writeFileSync(
    join(root, 'npm.js'),
    `require('node:fs').writeFileSync(${JSON.stringify(installed)}, '');
     process.stderr.write(${JSON.stringify(text)}); process.exitCode = 1`,
  );

/** Makes the checkout one whose packages are installed, and whose build tool does this. */
function buildToolThat(script: string): void {
  writeFileSync(join(root, 'package-lock.json'), '{"packages":{}}');
  for (const folder of ['apps', 'packages', 'node_modules/turbo/bin'])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'node_modules/.package-lock.json'), '{"packages":{}}');
  writeFileSync(join(root, 'node_modules/turbo/bin/turbo'), script);
}

interface Ended {
  readonly failed: boolean;
  readonly out: string;
  readonly err: string;
}

function start(
  args: readonly string[],
  env: Record<string, string> = {},
  program = 'start.mjs',
): Promise<Ended> {
  const options = { env: { PATH: process.env.PATH ?? '', npm_execpath: join(root, 'npm.js'), ...env } };
  return new Promise((resolve) =>
    execFile(process.execPath, [join(root, 'infra', program), ...args], options, (error, out, err) =>
      resolve({ failed: error !== null, out, err }),
    ),
  );
}

/** A data folder whose launcher is `holder`. */
function dataFolder(name: string, holder: unknown): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'launcher.pid'), JSON.stringify(holder));
  return folder;
}

/** Records a launcher of the checkout, under this process's id. Returns the folder of records. */
function recordLauncher(known: unknown): string {
  const launchers = join(root, 'node_modules/.cache/tidegate/launchers');
  mkdirSync(launchers, { recursive: true });
  writeFileSync(join(launchers, String(process.pid)), JSON.stringify(known));
  return launchers;
}

describe('npm start where the stack already runs', () => {
  it.each<[string, (folder: string) => [string[], Record<string, string>?]]>([
    ['.local', () => [[]]],
    ['elsewhere', (folder) => [['--data-dir', folder, '--scale', 'gateway=2', '--of-a-newer-version']]],
    ['elsewhere', (folder) => [[`--data-dir=${folder}`]]],
    ['elsewhere', (folder) => [[], { TIDEGATE_DATA_DIR: folder }]],
  ])('says so, and where it answers, and sets nothing up: data in %s (%#)', async (name, given) => {
    const folder = dataFolder(name, identify(process.pid));
    writeFileSync(join(folder, 'stack.json'), JSON.stringify({ gateway: 'http://127.0.0.1:8080/v1' }));
    const { failed, out } = await start(...given(folder));
    expect(failed).toBe(true);
    expect(out).toContain(`already running here (process ${process.pid})`);
    expect(out).toContain('API: http://127.0.0.1:8080/v1');
    expect(out).not.toContain('    at ');
    expect(existsSync(installed)).toBe(false);
  });

  it('does not claim to know whether a stack without addresses starts or stops', async () => {
    const folder = dataFolder('elsewhere', identify(process.pid));
    expect((await start(['--data-dir', folder])).out).toContain('It is starting or stopping.');
  });

  it('continues with the set-up when its launcher is gone, or no data is there', async () => {
    dataFolder('.local', { pid: process.pid, identity: 'another time' });
    await start([]);
    expect(existsSync(installed)).toBe(true);
    rmSync(installed);
    await start(['--data-dir', join(root, 'new')]);
    expect(existsSync(installed)).toBe(true);
  });
});

describe('npm start', () => {
  onLinux(
    'waits while another command builds the checkout, and then builds only what is missing',
    async () => {
      const log = join(root, 'builds');
      buildToolThat(
        `const { appendFileSync } = require('node:fs');
       appendFileSync(${JSON.stringify(log)}, 'begun ');
       setTimeout(() => appendFileSync(${JSON.stringify(log)}, 'done '), 1_000)`,
      );
      const both = await Promise.all([start([]), start([], {}, 'ctl.mjs')]);
      expect(readFileSync(log, 'utf8')).toBe('begun done ');
      expect(both.map(({ out, err }) => out + err).join()).toContain('Waiting for it.');
    },
  );

  it.each(['--help', '-h'])(
    'prints the help for %s, and sets nothing up, though a stack runs',
    async (flag) => {
      dataFolder('.local', identify(process.pid));
      const { failed, out } = await start([flag]);
      expect(failed).toBe(false);
      expect(out).toContain('Usage: npm start');
      expect(existsSync(installed)).toBe(false);
    },
  );

  it.each([
    ['DATABASE_URL', 'Postgres', 'postgresql://me:hidden@'],
    ['REDIS_URL', 'Redis', 'redis://me:hidden@'],
  ])('says that nothing listens at %s, and sets nothing up', async (variable, store, login) => {
    const address = `127.0.0.1:${await freePort()}`;
    const file = join(root, 'url');
    writeFileSync(file, `${login}${address}/0\n`);
    for (const env of [{ [variable]: `${login}${address}/0` }, { [`${variable}_FILE`]: file }]) {
      const { failed, out } = await start([], env);
      expect(failed).toBe(true);
      expect(out).toContain(`${variable}: no connection to ${store} at ${address}: connect ECONNREFUSED`);
      expect(out).toContain(`unset ${variable}`);
      expect(out).not.toMatch(/hidden| {4}at /);
      expect(existsSync(installed)).toBe(false);
    }
  });

  it('installs nothing while a stack of the checkout runs on other data, until it is gone', async () => {
    const launchers = recordLauncher(identify(process.pid));
    const { out } = await start(['--data-dir', join(root, 'other')]);
    expect(out).toContain(`Tidegate runs from this checkout (process ${process.pid})`);
    expect(out).not.toContain('    at ');
    expect(existsSync(installed)).toBe(false);
    writeFileSync(join(launchers, '1'), '');
    recordLauncher({ pid: process.pid, identity: 'another time' });
    await start(['--data-dir', join(root, 'other')]);
    expect(existsSync(installed)).toBe(true);
  });

  it('leaves ctl to run the existing build while a stack runs, and ctl says so', async () => {
    recordLauncher(identify(process.pid));
    mkdirSync(join(root, 'apps/ctl/dist'), { recursive: true });
    writeFileSync(join(root, 'apps/ctl/dist/main.js'), 'console.log("{}")');
    const { failed, out, err } = await start([], {}, 'ctl.mjs');
    expect({ failed, out }).toEqual({ failed: false, out: '{}\n' });
    expect(err).toContain('packages or build are out of date. This ctl is from that build.');
    expect(existsSync(installed)).toBe(false);
  });

  it('says so if only the version of Node differs from the one that built', async () => {
    buildToolThat('');
    await start([]);
    recordLauncher(identify(process.pid));
    const { out } = await startOn('99.1.0');
    expect(out).toContain(`and it was built with Node ${process.versions.node}, while this is Node 99.1.0.`);
    writeFileSync(join(root, 'packages/processes/changed'), '');
    expect((await startOn('99.1.0')).out).toContain('and its packages or build are out of date.');
  });

  it('leaves it to the stack to refuse a data folder', async () => {
    writeFileSync(join(root, 'file'), '');
    await start(['--data-dir', join(root, 'file/data')]);
    expect(existsSync(installed)).toBe(true);
  });

  /** Starts as if Node had this version. */
  const startOn = (version: string): ReturnType<typeof start> => {
    const old = join(root, 'old.mjs');
    writeFileSync(old, `Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`);
    return start([], { NODE_OPTIONS: `--import=${old}` });
  };

  it.each(['18.20.8', '20.18.3', '21.7.3', '22.11.0'])(
    'says first that Node %s is too old, before it runs anything of the build',
    async (version) => {
      writeFileSync(join(root, 'infra/local/dist/already.js'), 'throw new Error("of a newer Node")');
      const { out } = await startOn(version);
      expect(out).toContain(
        `Tidegate needs Node 20 (20.19 or newer), or Node 22.12 or newer; this is ${version}.`,
      );
      expect(out).not.toContain('    at ');
    },
  );

  it.each(['20.19.0', '22.12.0', '23.0.0', '24.0.0'])('runs on Node %s', async (version) => {
    await startOn(version);
    expect(existsSync(installed)).toBe(true);
  });
});

describe('a set-up that fails says why', () => {
  it.each([
    [
      'npm error code ENOSPC\nnpm error nospc ENOSPC: no space left on device, write',
      'no space left on the device.',
    ],
    [
      "npm error code EACCES\nnpm error path /x/y\nnpm error Error: EACCES: permission denied, mkdir '/x/y'",
      'permission denied (/x/y).',
    ],
    ['npm error code EROFS\nnpm error path /x/y', 'the file system is read-only (/x/y).'],
    ['tar: x: No space left on device', 'no space left on the device.'],
  ])('when packages cannot be written, without sending anyone to the registry: %j', async (text, cause) => {
    npmThatSays(text);
    const { out } = await start([]);
    expect(out).toContain(`The packages could not be installed: ${cause}`);
    expect(out).not.toContain('registry');
  });

  it.each(['npm error code ENOTFOUND', 'npm error code EACCES\nnpm error connect EACCES 192.0.2.1:443'])(
    'when the registry cannot be reached: %j',
    async (text) => {
      npmThatSays(text);
      expect((await start([])).out).toContain('Check the connection to the npm registry');
    },
  );

  it('when there is no npm', async () => {
    const { out } = await start([], { npm_execpath: '', PATH: root });
    expect(out).toContain('The packages could not be installed: npm is not on PATH.');
    expect(out).not.toContain('    at ');
  });

  it('when the build finds no space', async () => {
    buildToolThat('console.log("Error: ENOSPC: no space left on device, write"); process.exit(1)');
    expect((await start([])).out).toContain('The build failed: no space left on the device.');
  });

  it('when what was built cannot be recorded', async () => {
    buildToolThat('');
    writeFileSync(join(root, 'node_modules/.cache'), '');
    const { out } = await start([]);
    expect(out).toMatch(/The build failed: ENOTDIR: not a directory, \w+ '.*\.cache/);
    expect(out).not.toContain('    at ');
  });
});
