import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { filesOf, STANDIN } from './files.ts';
import { modelUserSettings } from './model-user.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-checkout-'));
  mkdirSync(join(root, 'node_modules'));
  mkdirSync(dirname(join(root, STANDIN)), { recursive: true });
  writeFileSync(join(root, STANDIN), '');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const settings = () => modelUserSettings(root, filesOf('/data'));
const asRoot = process.getuid?.() === 0 ? describe : describe.skip;

asRoot("the models of root's stack", () => {
  it('run as another user, at home in the data folder, if that user can read the checkout', () => {
    chmodSync(root, 0o755);
    expect(settings()).toEqual({ RUNNER_MODEL_HOME: '/data/models' });
  });

  it('run as root if nobody else can read the checkout', () => {
    expect(settings()).toEqual({ RUNNER_MODEL_USER: 'root' });
  });
});
