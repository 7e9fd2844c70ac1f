import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { itOnLinux } from '@tidegate/testing';
import { directoryInMemory } from './memory.mjs';

const onLinux = itOnLinux(it);

describe('directoryInMemory', () => {
  onLinux('removes the directories of runs that were killed, and no others', async () => {
    const { pid } = spawnSync('true');
    const [left, running] = [pid, process.pid].map((owner) =>
      mkdtempSync(`/dev/shm/tidegate-test-${owner}-`),
    ) as [string, string];
    const made = await directoryInMemory();
    try {
      expect([left, running].map((directory) => existsSync(directory))).toEqual([false, true]);
    } finally {
      for (const directory of [left, running, made])
        if (directory) rmSync(directory, { recursive: true, force: true });
    }
  });
});
