import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import type { Command } from '@tidegate/processes';
import { runStep } from './process.ts';

const POLICY = '/usr/sbin/policy-rc.d';
const DENY_ALL =
  '#!/bin/sh\n# Installed by Tidegate while it fetches redis-server: packages start no services.\nexit 101\n';

/** For apt and dpkg: this process's environment, but in English, because their output is read. */
export const aptEnvironment = (): NodeJS.ProcessEnv => ({ ...process.env, LC_ALL: 'C' });

/**
 * Runs a command of apt that needs package lists. If it fails, there may be none yet, or they are
 * so old that the files are gone: fetches the lists, and tries again.
 */
export async function runWithLists(
  step: string,
  command: Command,
  onLog?: (line: string) => void,
): Promise<void> {
  await runStep(step, command, onLog).catch(async () => {
    await runStep(step, { ...command, args: ['update', '-qq'] }, onLog);
    await runStep(step, command, onLog);
  });
}

/**
 * Runs `body` while Debian's policy file keeps packages from starting services. An existing policy
 * file stays as it is, unless a run that was killed left it behind.
 */
export async function withoutServices(body: () => Promise<void>, policy = POLICY): Promise<void> {
  const ours = await writeFile(policy, DENY_ALL, { flag: 'wx', mode: 0o755 }).then(
    () => true,
    async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return (await readFile(policy, 'utf8').catch(() => '')) === DENY_ALL;
    },
  );
  try {
    if (ours) await chmod(policy, 0o755);
    await body();
  } finally {
    if (ours) await rm(policy, { force: true });
  }
}
