import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process that cannot be mistaken for a later one of the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it began, in the system's own words. */
  readonly began: string;
}

/** Null: there is no such process (a zombie counts as gone). */
export function identify(pid: number): ProcessIdentity | null {
  const began = process.platform === 'linux' ? beganOnLinux(pid) : beganByPs(pid);
  return began ? { pid, began } : null;
}

export const isAlive = ({ pid, began }: ProcessIdentity): boolean => identify(pid)?.began === began;

/** The 22nd field of /proc/<pid>/stat, in clock ticks since the system's start; the 2nd, a name, may hold anything. */
function beganOnLinux(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? null : (rest[18] ?? null);
  } catch {
    return null;
  }
}

function beganByPs(pid: number): string | null {
  try {
    const out = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
    return out.trim() || null;
  } catch {
    return null;
  }
}

/** Sends a signal to a process, or to its whole group; false: it is gone. */
export function signal(pid: number, name: NodeJS.Signals, { group = false } = {}): boolean {
  try {
    process.kill(group ? -pid : pid, name);
    return true;
  } catch {
    return false;
  }
}
