// @ts-check
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startStack } from '@tidegate/local';
import { TEST_ENV, testPostgres, testRedis, urlAs } from '@tidegate/testing';

/**
 * A machine that runs tests may be slower than a server. That must not cause a 500, nor an answer
 * that ends before its slot is free.
 */
export const PATIENT = {
  LIMITER_SILENCE_MS: '20000',
  LIMITER_CALL_TIMEOUT_MS: '30000',
  SETTLE_WAIT_MS: '60000',
};
const OPTIMIZE_LATE = new URL('late-optimization.cjs', import.meta.url);
const TWO_NONCES = new URL('two-nonces.cjs', import.meta.url);
const preloading = (/** @type {URL[]} */ ...files) => ({
  NODE_OPTIONS: files.map((file) => `--require ${JSON.stringify(fileURLToPath(file))}`).join(' '),
});
/** Most services of a test live for seconds, which is less than optimized code needs to pay off. */
const SHORT_LIVED = preloading(OPTIMIZE_LATE);
const SHORT_LIVED_CONSOLE = preloading(OPTIMIZE_LATE, TWO_NONCES);
/** Calls of `PATIENT` gateways last longer. */
const PATIENT_LIMITER = { REDIS_ANSWER_TIMEOUT_MS: '20000' };

/**
 * @typedef {import('@tidegate/local').StackOptions & {
 *   readonly ownPostgres?: boolean | undefined
 * }} TestStackOptions `ownPostgres` starts a Postgres for this stack alone, as users get it.
 *   Default: a database on the run's.
 */

/**
 * Gives each service the rights of its own role, as in production. By itself, a stack hands a
 * database that it did not start to all services as it is.
 *
 * @param {string} url
 * @param {import('@tidegate/local').StackOptions['env']} env
 * @returns {NonNullable<import('@tidegate/local').StackOptions['env']>}
 */
export const asTheirRoles = (url, env) => {
  const variables = (/** @type {'limiter' | 'metering' | 'runner' | 'console'} */ service) => ({
    DATABASE_URL: urlAs(service, url),
    ...env?.[service],
  });
  return {
    ...env,
    limiter: variables('limiter'),
    metering: variables('metering'),
    runner: variables('runner'),
    console: variables('console'),
  };
};

/**
 * Starts a stack with its own data and ports, and without a console unless `console` asks for it.
 *
 * @param {TestStackOptions} options
 * @returns {Promise<{ stack: import('@tidegate/local').Stack, end: () => Promise<void> }>}
 */
export async function startTestStack({ ownPostgres, ...wished }) {
  /** @type {(() => unknown)[]} */
  const ends = [];
  const end = async () => {
    for (const one of ends.splice(0).reverse()) await one();
  };
  try {
    const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-tests-'));
    ends.push(() => rmSync(dataDir, { recursive: true, force: true }));
    /** @type {import('@tidegate/local').StackOptions} */
    let stores = {};
    // A run on clusters starts them here. Otherwise the stack starts the Redis that users get.
    if (process.env[TEST_ENV.cluster] && wished.redisUrl === undefined) {
      const redis = await testRedis({ appendonly: true });
      ends.push(redis.stop);
      stores = { ...stores, redisUrl: redis.url };
    }
    if (!ownPostgres && wished.databaseUrl === undefined) {
      const postgres = await testPostgres();
      ends.push(postgres.drop);
      stores = { ...stores, databaseUrl: postgres.url };
    }
    const given = {
      ...wished.env,
      gateway: { ...SHORT_LIVED, ...PATIENT, ...wished.env?.gateway },
      limiter: { ...SHORT_LIVED, ...PATIENT_LIMITER, ...wished.env?.limiter },
      metering: { ...SHORT_LIVED, ...wished.env?.metering },
      runner: { ...SHORT_LIVED, ...wished.env?.runner },
      console: { ...SHORT_LIVED_CONSOLE, ...wished.env?.console },
    };
    const url = wished.databaseUrl ?? stores.databaseUrl;
    const env = url === undefined ? given : asTheirRoles(url, given);
    const stack = await startStack({ dataDir, ports: 'random', console: false, ...stores, ...wished, env });
    ends.push(stack.stop);
    return { stack, end };
  } catch (error) {
    await end();
    throw error;
  }
}
