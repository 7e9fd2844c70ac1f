import { spawn } from 'node:child_process';
import { closeSync, fstatSync } from 'node:fs';
import type { Socket } from 'node:net';
import { type Exit, exitOf, identify, type SystemUser } from '@tidegate/processes';
import { logFileOf, openLog } from './log-file.ts';
import { captureOutput, type ProcessOutput, readOutputFromLog } from './process-output.ts';
import { type ProcessRecord, writeRecord } from './state-file.ts';

export interface SpawnRequest {
  readonly stateDir: string;
  readonly modelId: string;
  readonly command: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  /** Null: the runner's own. */
  readonly user: SystemUser | null;
  readonly nowMs: number;
  /** Keep the output in the model's log. Otherwise it is dropped once it is forgotten. */
  readonly keepOutput: boolean;
  /** Asked last, right before the record is in place and the command begins. */
  readonly mayStart: () => boolean;
}

export interface Spawned {
  readonly record: ProcessRecord;
  /** Never rejects. */
  readonly exited: Promise<Exit>;
  readonly printed: ProcessOutput;
}

/** Makes the command wait for a line on descriptor 3. It exits if none comes. */
const GATE = 'read -r _ <&3 || exit 1; exec 3<&-;';

/**
 * A process between the model and its output. It copies the output to descriptor 4, and drops it
 * once nobody reads that descriptor. So the model can neither block nor fail on its output, with or
 * without a runner. The process is in the model's group, but ends only when the last process that
 * prints has ended.
 */
const RELAY = `
  if d=$(mktemp -d || TMPDIR=/tmp mktemp -d) && mkfifo -m 600 "$d/o"; then
    ( (trap '' TERM INT HUP; cat >&4; exec cat >/dev/null 4>&-) <"$d/o" 2>/dev/null & )
    exec >"$d/o" 2>&1
    rm -rf "$d"
  fi
  exec 4>&-;`;

const COMMAND = ' exec /bin/sh -c "$0"';

/**
 * Starts a command as the leader of its own session and process group, as `user` and with no
 * supplementary groups. If output is kept, it goes to the model's log, which the command cannot
 * open: it has only a descriptor. The command begins only when its record is on disk. So a runner
 * that dies at any point leaves either a recorded process or none. Null: it may not start. Throws
 * when nothing could be started.
 */
export async function spawnModel({
  stateDir,
  modelId,
  command,
  port,
  env,
  user,
  nowMs,
  keepOutput,
  mayStart,
}: SpawnRequest): Promise<Spawned | null> {
  const log = keepOutput ? openLog(stateDir, modelId) : null;
  const loggedBytes = log === null ? 0 : fstatSync(log).size;
  const script = log === null ? GATE + RELAY + COMMAND : GATE + COMMAND;
  const child = spawn('/bin/sh', ['-c', script, withPort(command, port)], {
    detached: true,
    stdio: log === null ? ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] : ['ignore', log, log, 'pipe'],
    env: { ...env, PORT: String(port) },
    ...(user && { uid: user.uid, gid: user.gid }),
  });
  if (log !== null) closeSync(log);
  const exited = exitOf(child);
  // Without a descriptor to spare, it has no stdio either.
  if (child.pid === undefined) throw (await exited).error;
  const gate = child.stdio[3] as Socket;
  gate.on('error', () => {});
  const known = identify(child.pid);
  if (known === null) {
    gate.destroy();
    throw new Error('the process could not be started');
  }
  const record: ProcessRecord = { ...known, port, launchedAtMs: nowMs, ending: false };
  let stands = false;
  try {
    stands = writeRecord(stateDir, modelId, record, mayStart);
  } finally {
    if (!stands) gate.destroy();
  }
  if (!stands) return null;
  gate.end('go\n');
  child.unref();
  const printed =
    log === null
      ? captureOutput(child.stdio[4] as Socket)
      : readOutputFromLog(logFileOf(stateDir, modelId), loggedBytes);
  return { record, exited, printed };
}

const withPort = (command: string, port: number): string =>
  command.replace(/\$\{PORT\}|\$PORT(?![A-Za-z0-9_])/g, String(port));
