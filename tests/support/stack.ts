import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from '@jest/globals';
import type { ListedModelView, UsageView } from '@tidegate/control';
import { type Stack, type StackOptions, startStack } from '@tidegate/local';
import { TEST_ENV, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { watchGateways } from './conformance/watch.ts';
import { closeControl, controlOf, ctlVariables, must, OPERATOR } from './control.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const START_TIMEOUT_MS = 120_000;
/** A machine that runs tests may be slower than a server. That must not cause a 500. */
const PATIENT = { LIMITER_SILENCE_MS: '2000' };

export interface TestStackOptions extends StackOptions {
  /** Start a Postgres for this stack alone, as users get it. Default: a database on the run's. */
  readonly ownPostgres?: boolean;
}

/**
 * Starts a stack for one file's tests, with its own data and ports, and without a console unless
 * `console` asks for it. Call the result for the stack, inside tests. Everything that the tests
 * exchange with its gateways is checked against the API's description.
 */
export function useStack(options: TestStackOptions | (() => Promise<TestStackOptions>) = {}): () => Stack {
  let dataDir: string | undefined;
  let stack: Stack | undefined;
  let postgres: TestPostgres | undefined;
  let redis: TestRedis | undefined;
  watchGateways(() => stack?.info.gateways ?? []);
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'tidegate-tests-'));
    const { ownPostgres, ...wished } = typeof options === 'function' ? await options() : options;
    // A run on clusters starts them here. Otherwise the stack starts the Redis that users get.
    if (process.env[TEST_ENV.cluster] && wished.redisUrl === undefined)
      redis = await testRedis({ appendonly: true });
    const redisUrl = redis ? { redisUrl: redis.url } : {};
    if (!ownPostgres && wished.databaseUrl === undefined) postgres = await testPostgres();
    const stores = { ...redisUrl, ...(postgres && { databaseUrl: postgres.url }) };
    const env = { ...wished.env, gateway: { ...PATIENT, ...wished.env?.gateway } };
    stack = await startStack({ dataDir, ports: 'random', console: false, ...stores, ...wished, env });
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    if (stack) await closeControl(stack);
    await stack?.stop();
    await Promise.all([redis?.stop(), postgres?.drop()]);
    if (dataDir) rmSync(dataDir, { recursive: true, force: true });
  }, START_TIMEOUT_MS);
  return () => {
    if (!stack) throw new Error('the stack has not been started');
    return stack;
  };
}

/**
 * Runs `ctl` on a stack. Resolves to the JSON document that it prints. Rejects with its reason if
 * it refuses.
 */
export function ctl<T = unknown>(stack: Stack, ...args: string[]): Promise<T> {
  const env = { ...process.env, ...ctlVariables(stack) };
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['apps/ctl/dist/main.js', ...args, '--json'],
      { cwd: ROOT, env },
      (error, stdout, stderr) =>
        error ? reject(new Error(stderr || error.message)) : resolve(JSON.parse(stdout)),
    );
  });
}

/** The output of `ctl usage show`. */
export const usageOf = async (stack: Stack, org: string): Promise<UsageView> =>
  must(await controlOf(stack).showUsage(OPERATOR, { org }));

/** The organization's models, as `ctl model list` prints them. */
export const modelsOf = async (stack: Stack, org: string): Promise<readonly ListedModelView[]> =>
  must(await controlOf(stack).listModels(OPERATOR, { org }));
