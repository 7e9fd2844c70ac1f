import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { diesWithParent, exitOf, stopChild, until } from '@tidegate/processes';
import { StackError } from '../errors.ts';
import { keepOlder, tailOf } from '../files.ts';
import { plainLog } from './log.ts';
import type { Run, Startable } from './supervised.ts';

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 25;
const STEADY_MS = 10_000;
const LOG_LINES = 20;

export interface ProcessSpec {
  /** Unique in the stack: gateway, gateway-2, ... */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly ready: () => Promise<boolean>;
  /** How long it may take to end after SIGTERM. Then it is killed. */
  readonly stopTimeoutMs: number;
}

/**
 * A process that writes its output to a log file. It has its own group, so a terminal's Ctrl-C
 * reaches only the launcher. On Linux the system ends it when the launcher dies.
 */
export function processOf(spec: ProcessSpec): Startable {
  keepOlder(spec.logFile);
  return {
    name: spec.name,
    steadyMs: STEADY_MS,
    launch: () => launch(spec),
    failure: (stuck) =>
      new StackError(
        stuck
          ? `${spec.name} was not ready after ${READY_TIMEOUT_MS / 1000} s.`
          : `${spec.name} ended while starting.`,
        { output: plainLog(tailOf(spec.logFile, LOG_LINES)), hint: `The whole log: ${spec.logFile}` },
      ),
  };
}

async function launch({ command, args, cwd, env, logFile, ready, stopTimeoutMs }: ProcessSpec): Promise<Run> {
  const bound = await diesWithParent({ command, args, options: { cwd, env, detached: true } });
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(bound.command, [...bound.args], { ...bound.options, stdio: ['ignore', log, log] });
  closeSync(log);
  let ended = false;
  const exited = exitOf(child).then(({ code, signal: by, error }) => {
    ended = true;
    return error?.message ?? by ?? `exit code ${code}`;
  });
  return {
    pid: child.pid,
    exited,
    ready: async () => {
      const timing = { timeoutMs: READY_TIMEOUT_MS, intervalMs: READY_POLL_MS };
      return (await until(async () => ended || (await ready()), timing)) && !ended;
    },
    stop: () => stopChild(child, { exited, timeoutMs: stopTimeoutMs }),
  };
}

/** Ready when `url` answers 200. */
export const answersOk = (url: string) => async (): Promise<boolean> => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
};
