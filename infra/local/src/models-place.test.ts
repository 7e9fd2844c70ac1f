import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort } from '@tidegate/embedded';
import { canRead, UNPRIVILEGED } from '@tidegate/processes';
import { eventually, itAsRoot } from '@tidegate/testing';
import { type Files, filesOf, makeDataFolder, ROOT, STANDIN } from './files.ts';
import { closeModelsPlace, type ModelsPlace, openModelsPlace } from './models-place.ts';

const MODULE = 'node_modules/image-size';

let root: string;
let files: Files;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-checkout-'));
  const workspace = dirname(dirname(STANDIN));
  for (const path of [dirname(STANDIN), join(workspace, 'package.json'), MODULE])
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  files = filesOf(join(root, '.local'));
  makeDataFolder(files);
});
afterEach(() => {
  closeModelsPlace(files);
  rmSync(root, { recursive: true, force: true });
});

const open = (more: { demo?: boolean; node?: string } = {}) =>
  openModelsPlace({ root, files, demo: true, ...more });
const asRoot = itAsRoot(it);

/** Starts the stand-in as the models' user, until it has answered. */
async function answers({ node, standin }: ModelsPlace): Promise<void> {
  const port = await freePort();
  const { uid, gid } = UNPRIVILEGED;
  const child = spawn(node, [standin, '--port', String(port)], { uid, gid, cwd: '/', env: {} });
  try {
    await eventually(async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok);
  } finally {
    child.kill('SIGKILL');
  }
}

describe("the models of root's stack", () => {
  asRoot('run as another user, at home in the data folder, if that user can read the checkout', async () => {
    chmodSync(root, 0o755);
    const place = open();
    const standin = join(root, STANDIN);
    const settings = { RUNNER_MODEL_HOME: files.models };
    expect(place).toEqual({ node: process.execPath, standin, settings, warning: null });
    expect(existsSync(files.elsewhere)).toBe(false);
    await answers(place);
  });

  asRoot(
    'run as that user from copies that it cannot change, if nobody else can read the checkout',
    async () => {
      const place = open();
      await answers(place);
      expect(place.settings).toEqual({ RUNNER_MODEL_HOME: expect.stringMatching(/tidegate-models-.*home$/) });
      expect(place.warning).toContain(`uid 65522, which cannot read ${root}`);
      expect(canRead(UNPRIVILEGED, [root])).toBe(false);
      const folder = dirname(dirname(place.standin));
      for (const path of [folder, dirname(place.standin), place.standin]) {
        const { uid, mode } = statSync(path);
        expect([uid, mode & 0o022]).toEqual([0, 0]);
      }
      closeModelsPlace(files);
      expect([folder, files.elsewhere].filter((path) => existsSync(path))).toEqual([]);
    },
  );

  asRoot('can be started even if Node and all files of the checkout are only for root', async () => {
    const node = join(root, 'node');
    copyFileSync(process.execPath, node);
    for (const path of [node, join(root, STANDIN), join(root, MODULE, 'package.json')])
      chmodSync(path, 0o700);
    await answers(open({ node }));
  });

  asRoot('leave nothing behind from a launcher that was killed, once the next one starts', () => {
    const { standin } = open();
    expect(open().standin).not.toBe(standin);
    expect(existsSync(standin)).toBe(false);
  });

  asRoot('never remove a folder that was not made for them', () => {
    const folder = join(root, 'mine');
    mkdirSync(folder);
    symlinkSync(folder, files.elsewhere);
    closeModelsPlace(files);
    expect([folder, files.elsewhere].filter((path) => existsSync(path))).toEqual([folder]);
  });

  asRoot('have a home elsewhere if only the data folder is closed to them, and nothing is copied', () => {
    chmodSync(root, 0o755);
    chmodSync(files.dataDir, 0o700);
    const place = open();
    expect(place).toMatchObject({ node: process.execPath, standin: join(root, STANDIN), warning: null });
    expect(place.settings.RUNNER_MODEL_HOME).toMatch(/tidegate-models-.*home$/);
  });

  asRoot('need no stand-in without the demo', () => {
    chmodSync(root, 0o711);
    mkdirSync(join(root, 'closed'), { mode: 0o700 });
    const settings = { RUNNER_MODEL_HOME: files.models };
    expect(open({ demo: false, node: join(root, 'closed/node') })).toMatchObject({ settings, warning: null });
  });

  asRoot('run as the user of RUNNER_MODEL_USER, if the operator has set it', () => {
    process.env.RUNNER_MODEL_USER = 'root';
    try {
      expect(open()).toMatchObject({ standin: join(root, STANDIN), settings: {}, warning: null });
    } finally {
      delete process.env.RUNNER_MODEL_USER;
    }
  });
});
