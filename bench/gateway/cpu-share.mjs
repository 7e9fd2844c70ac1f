// Gives processes a share of a core each, so that the machine has room for more of them.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const GROUPS = '/sys/fs/cgroup';
/** Short, so that a process that has used up its share waits for milliseconds only. */
const PERIOD_US = 10_000;

/**
 * How a group limits CPU time, in either version of Linux' control groups. Null: there is neither.
 */
function controllerHere() {
  if (existsSync(join(GROUPS, 'cpu/cpu.cfs_quota_us'))) {
    const files = (quotaUs) => ({ 'cpu.cfs_period_us': PERIOD_US, 'cpu.cfs_quota_us': quotaUs });
    return { parent: join(GROUPS, 'cpu'), files };
  }
  if (existsSync(join(GROUPS, 'cgroup.controllers'))) {
    const files = (quotaUs) => ({ 'cpu.max': `${quotaUs} ${PERIOD_US}` });
    return { parent: GROUPS, files };
  }
  return null;
}

/**
 * @param share of a core, above 0
 * @returns a function that lifts the limits, even after the processes have ended; null where this
 *   process may not set them
 */
export function limitCpu(pids, share) {
  const controller = controllerHere();
  if (!controller) return null;
  const groups = pids.map((pid) => join(controller.parent, `tidegate-bench-${pid}`));
  const end = () => {
    for (const group of groups.filter(existsSync)) {
      const running = readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean);
      for (const pid of running) writeFileSync(join(controller.parent, 'cgroup.procs'), pid);
      rmdirSync(group);
    }
  };
  try {
    for (const [i, group] of groups.entries()) {
      mkdirSync(group);
      const files = { ...controller.files(PERIOD_US * share), 'cgroup.procs': pids[i] };
      for (const [file, value] of Object.entries(files)) writeFileSync(join(group, file), String(value));
    }
    return end;
  } catch {
    end();
    return null;
  }
}
