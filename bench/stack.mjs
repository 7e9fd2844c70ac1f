// Shared by the benches of whole stacks: a stack with its own data, its management in this process,
// and organizations whose plan limits nothing.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createControl, limiterOverGrpc, runnerOverGrpc } from '@tidegate/control';
import { closeDb, createDb } from '@tidegate/db';
import { startStack } from '@tidegate/local';
import { generousPlan } from '@tidegate/testing';
import { Redis } from 'ioredis';

const OPERATOR = { kind: 'operator' };
/** Millions of rows take a slow disk minutes. */
const SEEDING_TIMEOUT_MS = 600_000;
const RUNNING_TIMEOUT_MS = 30_000;
/** The highest limits that the contract allows a key. */
const KEY = { name: 'Bench', requestsPerMinute: 6000, requestsAtOnce: 256 };
const MODEL = { name: 'tide', kind: 'text', mode: 'always_on', contextTokens: 100_000 };

function must(result) {
  if (!result.ok) throw new Error(result.refusal.message);
  return result.value;
}

/**
 * @param env environment of services, by name
 * @param scale number of processes of a service, by name
 * @param options more of the stack's options
 */
export async function startBench(env = {}, scale = {}, options = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
  const stack = await startStack({ dataDir, ports: 'random', demo: false, env, scale, ...options });
  const vars = JSON.parse(await readFile(join(dataDir, 'env.json'), 'utf8'));
  const caller = { token: vars.SERVICE_TOKEN, tls: null };
  const limiter = limiterOverGrpc(vars.LIMITER_ADDRESSES.split(','), caller);
  const runner = runnerOverGrpc([{ pool: 'local', address: vars.RUNNER_ADDRESS }], caller);
  const db = createDb(stack.info.postgres, { statementTimeoutMs: SEEDING_TIMEOUT_MS });
  const secretKey = Buffer.from(vars.SECRET_KEY, 'base64');
  const control = createControl({ db, limiter, runner, secretKey, now: Date.now });
  must(await control.setPlan(OPERATOR, { name: 'Bench', ...generousPlan() }));

  return {
    stack,
    db,
    /** The log of a service's first process so far. */
    logOf: (service) => readFile(join(dataDir, 'logs', `${service}.log`), 'utf8'),
    /** Resolves to its slug. */
    createOrg: async (name = 'Bench') =>
      must(await control.createOrg(OPERATOR, { name, plan: 'Bench' })).slug,
    /** Resolves to its id and value. */
    createKey: async (org, fields = {}) =>
      must(await control.createKey(OPERATOR, { org, ...KEY, ...fields })),
    showUsage: async (org) => must(await control.showUsage(OPERATOR, { org })),
    publish: async (org, url, fields = {}) =>
      must(await control.publishModel(OPERATOR, { org, ...MODEL, urls: [url], ...fields })),
    /**
     * Raises a key's limits above what the contract allows. The limiter still makes real decisions.
     */
    raise: (key) => raise(stack.info, key),
    /** Resolves when the model answers. */
    async running(key, model = MODEL.name) {
      const deadlineMs = performance.now() + RUNNING_TIMEOUT_MS;
      while ((await statusOf(stack.info.gateway, key, model)) !== 200) {
        if (performance.now() > deadlineMs) throw new Error(`${model} is not running`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    },
    async stop() {
      limiter.close();
      runner.close();
      await closeDb(db);
      await stack.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function statusOf(gateway, key, model) {
  const answer = await fetch(`${gateway}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

async function raise({ gateway, redis: url }, { id, key }) {
  // The first use of a key puts it into Redis.
  await fetch(`${gateway}/models`, { headers: { authorization: `Bearer ${key}` } });
  const redis = new Redis(url);
  try {
    for (const name of await redis.keys(`tg:*:key:${id}`))
      await redis.hset(name, { rpm: '1000000', at_once: '10000' });
  } finally {
    redis.disconnect();
  }
}
