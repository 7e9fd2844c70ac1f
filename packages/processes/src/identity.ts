import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Identifies a process, and tells it apart from a later one with the same pid. It may be kept in a
 * file.
 */
export interface KnownProcess {
  readonly pid: number;
  /** When it began, and on Linux in which boot of the machine. */
  readonly identity: string;
}

/** Null: there is no such process, or it has ended and waits to be reaped. */
export function identify(pid: number): KnownProcess | null {
  const identity = process.platform === 'linux' ? identityOnLinux(pid) : startByPs(pid);
  return identity === null ? null : { pid, identity };
}

/** Also false for a record without an identity. */
export function isAlive({ pid, identity }: KnownProcess): boolean {
  const found = identify(pid);
  return found !== null && found.identity === identity;
}

/** False: the machine has been rebooted since, so the process cannot exist. */
export const isOfThisBoot = ({ identity }: KnownProcess): boolean =>
  process.platform !== 'linux' || identity.startsWith(`${bootId()}:`);

/** What /proc/<pid>/stat says. */
export interface Stat {
  readonly group: number;
  /** Clock ticks since the system started. */
  readonly startTicks: string;
}

/** Null: it is gone. The second field, the name, may contain spaces and brackets. */
export function readStat(pid: number | string): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, , group] = fields;
    return state === 'Z' || state === 'X' ? null : { group: Number(group), startTicks: fields[19] ?? '' };
  } catch {
    return null;
  }
}

function identityOnLinux(pid: number): string | null {
  const stat = readStat(pid);
  return stat && `${bootId()}:${stat.startTicks}`;
}

function startByPs(pid: number): string | null {
  try {
    // `ps` prints local time, which would change when the machine's time zone does.
    const ps = ['TZ=UTC0', 'LC_ALL=C', 'ps', '-o', 'lstart=', '-p', String(pid)];
    const out = execFileSync('env', ps, { encoding: 'utf8' });
    return out.trim() || null;
  } catch {
    return null;
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
