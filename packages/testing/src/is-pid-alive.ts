import { identify } from '@tidegate/processes';

/** Whether a process has this id. One that has ended and waits to be reaped does not count. */
export const isPidAlive = (pid: number): boolean => identify(pid) !== null;
