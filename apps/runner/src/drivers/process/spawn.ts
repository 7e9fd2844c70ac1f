import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { identityOf } from './identity.ts';
import { openLog } from './log-file.ts';
import { type ProcessRecord, writeRecord } from './state-file.ts';

export interface Launch {
  readonly stateDir: string;
  readonly modelId: string;
  readonly command: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly nowMs: number;
  /** Keep what it prints in the model's log; otherwise it goes nowhere. */
  readonly keepOutput: boolean;
}

export interface Spawned {
  readonly record: ProcessRecord;
  /** How it ended: `exited with code 1`, `was ended by SIGKILL`. Never rejects. */
  readonly exited: Promise<string>;
}

/** The command waits behind this for a line on descriptor 3, and ends if none comes. */
const GATE = 'read -r _ <&3 || exit 1; exec 3<&-; exec /bin/sh -c "$0"';

/**
 * Starts a command as the leader of its own session and process group, with its output in the model's log if it is kept. It begins only once
 * its record is on disk: a runner that dies at any point leaves either a recorded process or none. Throws when nothing
 * could be started.
 */
export async function spawnModel({
  stateDir,
  modelId,
  command,
  port,
  env,
  nowMs,
  keepOutput,
}: Launch): Promise<Spawned> {
  const log = keepOutput ? openLog(stateDir, modelId) : 'ignore';
  const child = spawn('/bin/sh', ['-c', GATE, withPort(command, port)], {
    detached: true,
    stdio: ['ignore', log, log, 'pipe'],
    env: { ...env, PORT: String(port) },
  });
  if (log !== 'ignore') closeSync(log);
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(signal ? `was ended by ${signal}` : `exited with code ${code}`),
    );
    child.once('error', () => resolve('could not be started'));
  });
  const gate = child.stdio[3] as Writable;
  gate.on('error', () => {});
  const identity = child.pid === undefined ? null : identityOf(child.pid);
  if (child.pid === undefined || identity === null) {
    gate.destroy();
    throw new Error(`the process ${await exited}`);
  }
  const record: ProcessRecord = { pid: child.pid, identity, port, launchedAtMs: nowMs, ending: false };
  try {
    writeRecord(stateDir, modelId, record);
  } catch (error) {
    gate.destroy();
    throw error;
  }
  gate.end('go\n');
  child.unref();
  return { record, exited };
}

const withPort = (command: string, port: number): string =>
  command.replace(/\$\{PORT\}|\$PORT(?![A-Za-z0-9_])/g, String(port));
