import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Calls `work` while this process can open no further file. Its limit is soft, and is put back when
 * the call returns. Only on Linux.
 */
export async function withoutDescriptors<T>(work: () => T): Promise<T> {
  const limit = (soft: string) => `prlimit --pid ${process.pid} --nofile=${soft}:`;
  const current = `prlimit --pid ${process.pid} --nofile --raw --noheadings --output SOFT`;
  const script = `was=$(${current}); ${limit('1')}; echo; read -r _; ${limit('$was')}`;
  const child = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  try {
    return work();
  } finally {
    child.stdin.end('\n');
    await once(child, 'exit');
  }
}
