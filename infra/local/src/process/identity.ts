import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Identifies a process even after the system reuses its pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it began, as the system reports it. */
  readonly began: string;
}

/** Null: there is no such process. A zombie counts as gone. */
export function identify(pid: number): ProcessIdentity | null {
  const began = process.platform === 'linux' ? beganOnLinux(pid) : beganByPs(pid);
  return began ? { pid, began } : null;
}

export const isAlive = ({ pid, began }: ProcessIdentity): boolean => identify(pid)?.began === began;

/**
 * Field 22 of /proc/<pid>/stat: clock ticks since the system started. Field 2, the name, may
 * contain any character.
 */
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

/** Sends a signal to a process or to its whole group. False: it is gone. */
export function signal(pid: number, name: NodeJS.Signals, { group = false } = {}): boolean {
  try {
    process.kill(group ? -pid : pid, name);
    return true;
  } catch {
    return false;
  }
}
