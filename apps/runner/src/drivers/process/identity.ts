import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

interface Stat {
  readonly state: string;
  readonly group: number;
  readonly startTicks: string;
}

/** Fields of /proc/<pid>/stat. The second one, the name, may contain spaces and brackets. */
function readStat(pid: number | string): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', group: Number(fields[2]), startTicks: fields[19] ?? '' };
  } catch {
    return null;
  }
}

const isGone = ({ state }: Stat): boolean => state === 'Z' || state === 'X';

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/**
 * Tells a process from a later one with the same pid, by boot and start time. Null: there is no
 * such process, or it has ended and waits to be reaped.
 */
export function identityOf(pid: number): string | null {
  if (process.platform === 'linux') {
    const stat = readStat(pid);
    return stat && !isGone(stat) ? `${bootId()}:${stat.startTicks}` : null;
  }
  try {
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return started || null;
  } catch {
    return null;
  }
}

/** False: the machine has been rebooted since, so the process cannot exist. */
export const isOfThisBoot = (identity: string): boolean =>
  process.platform !== 'linux' || identity.startsWith(`${bootId()}:`);

/** Whether any process of the group still runs. */
export function isGroupAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  if (process.platform !== 'linux') return true;
  return readdirSync('/proc').some((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    const stat = readStat(entry);
    return stat !== null && stat.group === group && !isGone(stat);
  });
}

export function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
