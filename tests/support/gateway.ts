import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StackInfo } from '@tidegate/local';
import { diesWithParent, exitOf, stopChild } from '@tidegate/processes';
import { eventually, freePort, testEnv } from '@tidegate/testing';
import { ctlVariables, type Reachable } from './control.ts';
import { PATIENT } from './test-stack.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const STOP_TIMEOUT_MS = 15_000;
const LOG_CHARACTERS = 2_000;

/** The variables of a gateway, where they differ from those of a stack's gateways. */
export type OwnGateway = Readonly<Record<string, string>>;

export interface RunningGateway {
  readonly url: string;
  readonly service: StackInfo['services'][number];
  stop(): Promise<void>;
}

/**
 * Starts a gateway with variables of its own in front of a running stack, whose limiter, metering
 * and runner it uses. A stack for each file would start five processes instead of one.
 */
export async function startGateway(stack: Reachable, own: OwnGateway): Promise<RunningGateway> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const { LIMITER_ADDRESSES, RUNNER_ADDRESS } = ctlVariables(stack);
  const { serviceTokens } = JSON.parse(readFileSync(join(stack.dataDir, 'secrets.json'), 'utf8'));
  const variables: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: String(port),
    ADMIN_HOST: '127.0.0.1',
    ADMIN_PORT: String(adminPort),
    LIMITER_ADDRESSES,
    RUNNER_ADDRESS,
    SERVICE_TOKEN: serviceTokens.gateway,
    SHUTDOWN_TIMEOUT_MS: '5000',
    ...PATIENT,
    ...own,
  };
  const logFile = join(testEnv('directory'), `gateway-${port}.log`);
  const child = await spawnGateway(variables, logFile);
  const exited = exitOf(child);
  const stop = () => stopChild(child, { exited, timeoutMs: STOP_TIMEOUT_MS });
  const admin = `http://127.0.0.1:${adminPort}`;
  try {
    await Promise.race([
      eventually(async () => (await fetch(`${admin}/readyz`)).status === 200),
      exited.then(() => Promise.reject(new Error('the gateway ended while it started'))),
    ]);
  } catch (error) {
    await stop();
    throw new Error(readFileSync(logFile, 'utf8').slice(-LOG_CHARACTERS), { cause: error });
  }
  return {
    url: `http://127.0.0.1:${port}/v1`,
    service: {
      name: 'gateway',
      pid: child.pid as number,
      health: `${admin}/healthz`,
      metrics: `${admin}/metrics`,
    },
    stop,
  };
}

async function spawnGateway(env: NodeJS.ProcessEnv, logFile: string): Promise<ChildProcess> {
  const { command, args, options } = await diesWithParent({
    command: process.execPath,
    args: ['apps/gateway/dist/main.js'],
    options: { cwd: ROOT, env, detached: true },
  });
  const log = openSync(logFile, 'a', 0o600);
  try {
    return spawn(command, [...args], { ...options, stdio: ['ignore', log, log] });
  } finally {
    closeSync(log);
  }
}
