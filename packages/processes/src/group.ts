import { readdirSync } from 'node:fs';
import { identify, isOfThisBoot, type KnownProcess, readStat } from './identity.ts';
import { until } from './until.ts';

/** Sends a signal to a process or to its whole group. False: no process got it. */
export function signal(pid: number, name: NodeJS.Signals, { group = false } = {}): boolean {
  try {
    process.kill(group ? -pid : pid, name);
    return true;
  } catch {
    return false;
  }
}

/** Durations in milliseconds. */
export interface GroupTimings {
  /** Between SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
  /** How long to wait for the end after SIGKILL. */
  readonly killGraceMs: number;
}

/**
 * Ends the group that a process leads or led: SIGTERM, then SIGKILL. Resolves when no process of
 * the group runs. Rejects when one survives SIGKILL. If another process has reused the number, its
 * group is left alone.
 */
export async function endGroup(
  leader: KnownProcess,
  { stopGraceMs, killGraceMs }: GroupTimings,
): Promise<void> {
  const { pid } = leader;
  const found = identify(pid);
  if ((found !== null && found.identity !== leader.identity) || !isOfThisBoot(leader)) return;
  const gone = () => !isGroupAlive(pid);
  signal(pid, 'SIGTERM', { group: true });
  if (await until(gone, { timeoutMs: stopGraceMs })) return;
  signal(pid, 'SIGKILL', { group: true });
  if (await until(gone, { timeoutMs: killGraceMs })) return;
  throw new Error(`processes of group ${pid} are still running`);
}

function isGroupAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  // While the leader runs, this avoids reading every process, which takes long on a large machine.
  if (readStat(group)?.group === group) return true;
  return readdirSync('/proc').some((entry) => /^\d+$/.test(entry) && readStat(entry)?.group === group);
}
