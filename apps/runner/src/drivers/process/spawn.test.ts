import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { itOnLinux, withoutDescriptors } from '@tidegate/testing';
import { spawnModel } from './spawn.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'tidegate-spawn-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

itOnLinux(it)('a process that the system refuses to start is refused with the reason', async () => {
  const request = { stateDir, modelId: 'mdl_a', command: 'true', port: 10_000, env: {}, user: null };
  const spawned = await withoutDescriptors(() =>
    spawnModel({ ...request, nowMs: 0, keepOutput: false, mayStart: () => true }).catch((error) => error),
  );
  expect(spawned).toMatchObject({ code: 'EMFILE' });
});
