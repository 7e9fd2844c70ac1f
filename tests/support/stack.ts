import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from '@jest/globals';
import type { UsageView } from '@tidegate/control';
import { type Stack, type StackOptions, startStack } from '@tidegate/local';
import { TEST_ENV, type TestRedis, testRedis } from '@tidegate/testing';
import { watchGateways } from './conformance/watch.ts';
import { closeControl, controlOf, must, OPERATOR } from './control.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const START_TIMEOUT_MS = 120_000;
/** A machine that runs tests may be slower than one that serves: that is no reason for a 500. */
const PATIENT = { LIMITER_SILENCE_MS: '2000' };

/**
 * A whole stack for the tests of one file: own data, own ports. Call the result for the stack, once tests run. What the tests exchange
 * with its gateways is held against the API's description.
 */
export function useStack(options: StackOptions | (() => Promise<StackOptions>) = {}): () => Stack {
  let dataDir: string | undefined;
  let stack: Stack | undefined;
  let redis: TestRedis | undefined;
  watchGateways(() => stack?.info.gateways ?? []);
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'tidegate-tests-'));
    const wished = typeof options === 'function' ? await options() : options;
    // A run on clusters brings them; otherwise the stack brings the Redis that it brings its users.
    if (process.env[TEST_ENV.cluster] && wished.redisUrl === undefined)
      redis = await testRedis({ appendonly: true });
    const redisUrl = redis ? { redisUrl: redis.url } : {};
    const env = { ...wished.env, gateway: { ...PATIENT, ...wished.env?.gateway } };
    stack = await startStack({ dataDir, ports: 'random', ...redisUrl, ...wished, env });
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    if (stack) await closeControl(stack);
    await stack?.stop();
    await redis?.stop();
    if (dataDir) rmSync(dataDir, { recursive: true, force: true });
  }, START_TIMEOUT_MS);
  return () => {
    if (!stack) throw new Error('the stack has not been started');
    return stack;
  };
}

/** Runs `ctl` against a stack. Resolves to the JSON document it printed; rejects with its reason when it refused. */
export function ctl<T = unknown>(stack: Stack, ...args: string[]): Promise<T> {
  const env = { ...process.env, ...JSON.parse(readFileSync(join(stack.dataDir, 'env.json'), 'utf8')) };
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

/** What `ctl usage show` prints. */
export const usageOf = async (stack: Stack, org: string): Promise<UsageView> =>
  must(await controlOf(stack).showUsage(OPERATOR, { org }));
