import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { UNPRIVILEGED } from '@tidegate/processes';
import { itAsRoot } from '@tidegate/testing';

const INIT = join(import.meta.dirname, 'init.sh');
const NAMESPACE = ['--pid', '--fork', '--kill-child', '--mount-proc'];
/** Only root can make a process the first one of a namespace, and not in every container. */
const isRefused = process.getuid?.() === 0 && spawnSync('unshare', [...NAMESPACE, 'true']).status !== 0;
const asRoot = isRefused ? it.skip : itAsRoot(it);
const { uid, gid } = UNPRIVILEGED;

/**
 * Takes the place of the runner. Its model looks at process 1, and leaves an orphan, which ends.
 */
const RUNNER = `
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
const sh = (command) => execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8', env: {} }).trim();
const say = (word) => process.stdout.write(word + '\\n');
say('process ' + (process.pid === 1 ? 'first' : 'other'));
say('environment ' + sh('(: </proc/1/environ) 2>/dev/null && echo open || echo closed'));
const orphan = Number(sh('sleep 1000 >/dev/null 2>&1 & echo $!'));
process.kill(orphan, 'SIGKILL');
const look = setInterval(() => {
  if (existsSync('/proc/' + orphan)) return;
  clearInterval(look);
  say('reaped');
}, 10);
process.on('SIGTERM', () => { say('stopping'); process.exit(3); });
setInterval(() => {}, 1000);
`;

let dir: string;
let running: ChildProcess | null = null;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tidegate-init-'));
  chmodSync(dir, 0o755);
  writeFileSync(join(dir, 'main.js'), RUNNER);
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }');
});
afterEach(() => {
  running?.kill('SIGKILL');
  rmSync(dir, { recursive: true });
});

const childOf = (pid = 0): number => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'));

/**
 * Runs the runner as its container does, below a Bash of this mode, until it has said everything.
 */
async function runBelow(mode: number): Promise<{ said: string[]; code: number }> {
  const bash = join(dir, 'bash');
  copyFileSync('/bin/bash', bash);
  chmodSync(bash, mode);
  // Only env's exec drops the capabilities with which Linux would consider any program readable.
  const user = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', 'env'];
  const child = spawn('unshare', [...NAMESPACE, ...user, bash, INIT], {
    cwd: dir,
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, SECRET_KEY: 'mark-of-a-secret' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running = child;
  const ended = once(child, 'exit');
  const said: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    said.push(line);
    // `unshare` ignores signals. What it has started is process 1 of the container.
    if (line === 'reaped') process.kill(childOf(child.pid), 'SIGTERM');
  }
  return { said, code: (await ended)[0] };
}

describe("process 1 of the runner's container", () => {
  asRoot('is closed to models, reaps their orphans, and lets the runner stop in order', async () => {
    expect(await runBelow(0o711)).toEqual({
      said: ['process other', 'environment closed', 'reaped', 'stopping'],
      code: 3,
    });
  });

  asRoot('is open to models if they may read its program', async () => {
    expect((await runBelow(0o755)).said).toContain('environment open');
  });
});
