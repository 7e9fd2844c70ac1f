import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { identify } from './local/src/process/identity.ts';

const INFRA = import.meta.dirname;

let root: string;
/** Written when the set-up installs. */
let installed: string;

/** A checkout that was built, and whose packages are not as its lock file says. */
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-start-'));
  installed = join(root, 'installed');
  for (const part of ['start.mjs', 'setup', 'local/dist', 'local/package.json'])
    cpSync(join(INFRA, part), join(root, 'infra', part), { recursive: true });
  writeFileSync(join(root, 'package-lock.json'), '{"packages":{"node_modules/x":{"version":"1.0.0"}}}');
  writeFileSync(
    join(root, 'npm.js'),
    `require('node:fs').writeFileSync(${JSON.stringify(installed)}, ''); process.exit(1)`,
  );
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

interface Ended {
  readonly failed: boolean;
  readonly out: string;
}

function start(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const options = { env: { PATH: process.env.PATH ?? '', npm_execpath: join(root, 'npm.js'), ...env } };
  return new Promise((resolve) =>
    execFile(process.execPath, [join(root, 'infra/start.mjs'), ...args], options, (error, out) =>
      resolve({ failed: error !== null, out }),
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

  it('goes on with the set-up when its launcher is gone, or no data is there', async () => {
    dataFolder('.local', { pid: process.pid, began: 'another time' });
    await start([]);
    expect(existsSync(installed)).toBe(true);
    rmSync(installed);
    await start(['--data-dir', join(root, 'new')]);
    expect(existsSync(installed)).toBe(true);
  });
});
