import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { diesWithParent, exitOf, stopChild } from '@tidegate/processes';
import { freePort, urlAs } from '@tidegate/testing';
import { ctlVariables, type Reachable } from './control.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const STOP_TIMEOUT_MS = 15_000;

export interface RunningRunner {
  isReady(): Promise<boolean>;
  /** Whether it leads its pool. Rejects while it does not answer. */
  leads(): Promise<boolean>;
  signal(name: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/**
 * Starts a runner of a pool beside a running stack, whose Postgres it uses. When it is stopped, its
 * models end with it.
 */
export async function startRunner(
  stack: Reachable,
  { pool, port, stateDir }: { readonly pool: string; readonly port: number; readonly stateDir: string },
): Promise<RunningRunner> {
  const adminPort = await freePort();
  const { serviceTokens } = JSON.parse(readFileSync(join(stack.dataDir, 'secrets.json'), 'utf8'));
  const child = await spawnRunner({
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    RUNNER_HOST: '127.0.0.1',
    RUNNER_PORT: String(port),
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(adminPort),
    RUNNER_POOL: pool,
    RUNNER_STATE_DIR: stateDir,
    RUNNER_STOP_MODELS_ON_EXIT: 'true',
    DATABASE_URL: urlAs('runner', stack.info.postgres),
    SECRET_KEY: ctlVariables(stack).SECRET_KEY,
    SERVICE_TOKENS: Object.entries(serviceTokens)
      .map(([service, token]) => `${service}:${token}`)
      .join(),
    LOG_LEVEL: 'error',
  });
  const exited = exitOf(child);
  const get = (path: string) => fetch(`http://127.0.0.1:${adminPort}${path}`);
  return {
    isReady: async () => (await get('/readyz')).ok,
    leads: async () => /^tidegate_runner_active\{.*\} 1$/m.test(await (await get('/metrics')).text()),
    signal: (name) => void child.kill(name),
    async stop() {
      // One that is stopped by SIGSTOP ends only once it continues.
      child.kill('SIGCONT');
      await stopChild(child, { exited, timeoutMs: STOP_TIMEOUT_MS });
    },
  };
}

async function spawnRunner(env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const { command, args, options } = await diesWithParent({
    command: process.execPath,
    args: ['apps/runner/dist/main.js'],
    options: { cwd: ROOT, env, detached: true },
  });
  return spawn(command, [...args], { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
}
