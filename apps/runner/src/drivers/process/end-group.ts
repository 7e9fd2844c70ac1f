import type { DriverTimings } from '../driver.ts';
import { pause } from '../pause.ts';
import { identityOf, isGroupAlive, isOfThisBoot, signalGroup } from './identity.ts';
import type { ProcessRecord } from './state-file.ts';

const LOOK_MS = 25;
const never = new AbortController().signal;

/**
 * Ends a process group: SIGTERM, then SIGKILL. Resolves when no process of the group runs. Rejects
 * when one survives SIGKILL. If another group has reused the number, it is left alone.
 */
export async function endGroup(
  { pid, identity }: ProcessRecord,
  { stopGraceMs, killGraceMs }: Pick<DriverTimings, 'stopGraceMs' | 'killGraceMs'>,
): Promise<void> {
  const leader = identityOf(pid);
  if ((leader !== null && leader !== identity) || !isOfThisBoot(identity)) return;
  if (await ended(pid, 'SIGTERM', stopGraceMs)) return;
  if (await ended(pid, 'SIGKILL', killGraceMs)) return;
  throw new Error(`processes of group ${pid} are still running`);
}

async function ended(group: number, signal: NodeJS.Signals, waitMs: number): Promise<boolean> {
  signalGroup(group, signal);
  for (const started = performance.now(); ; await pause(LOOK_MS, never)) {
    if (!isGroupAlive(group)) return true;
    if (performance.now() - started >= waitMs) return false;
  }
}
