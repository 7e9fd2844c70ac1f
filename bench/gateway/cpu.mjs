// CPU time of processes, from /proc (Linux).
import { readdirSync, readFileSync } from 'node:fs';

const US_A_TICK = 10_000;

function fieldsOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(') ') + 2).split(' ');
  } catch {
    return null;
  }
}

/**
 * User and system time so far, in microseconds, of a process and its children (backends of
 * Postgres, workers of nginx).
 */
export function cpuUs(pid) {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = fieldsOf(name);
    if (fields && (Number(name) === pid || Number(fields[1]) === pid))
      ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks * US_A_TICK;
}
