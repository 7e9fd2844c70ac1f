import type { DriverTimings } from '../driver.ts';
import { pause } from '../pause.ts';
import { identityOf, isGroupAlive, isOfThisBoot, signalGroup } from './identity.ts';
import type { ProcessRecord } from './state-file.ts';

const LOOK_MS = 25;
const never = new AbortController().signal;

/**
 * Ends all of a process's group: SIGTERM, and SIGKILL after a bound. Resolves once nothing of it runs; rejects when something
 * does not even end when killed. Leaves alone a group that has come to bear the same number since.
 */
export async function endGroup(
  { pid, identity }: ProcessRecord,
  { stopGraceMs, killGraceMs }: Pick<DriverTimings, 'stopGraceMs' | 'killGraceMs'>,
): Promise<void> {
  const leader = identityOf(pid);
  if ((leader !== null && leader !== identity) || !isOfThisBoot(identity)) return;
  if (await ended(pid, 'SIGTERM', stopGraceMs)) return;
  if (await ended(pid, 'SIGKILL', killGraceMs)) return;
  throw new Error(`processes of the group ${pid} are left`);
}

async function ended(group: number, signal: NodeJS.Signals, waitMs: number): Promise<boolean> {
  signalGroup(group, signal);
  for (const started = performance.now(); ; await pause(LOOK_MS, never)) {
    if (!isGroupAlive(group)) return true;
    if (performance.now() - started >= waitMs) return false;
  }
}
