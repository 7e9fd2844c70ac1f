import {
  newApiKey,
  newKeyId,
  newModelId,
  newOrgId,
  newPlanId,
  orgTagOf,
  type ParsedApiKey,
  parseApiKey,
} from '@tidegate/contracts';
import { createDb, type Db } from '@tidegate/db';
import { createRedisClient, type RedisClient } from '@tidegate/redis';
import { createLogger, createMetrics } from '@tidegate/runtime';
import { generousPlan, PATIENT_DB } from '@tidegate/testing';
import { type Limiter, type LimiterOptions, startLimiter } from '../limiter.ts';
import { LimiterClock } from '../redis/clock.ts';
import { failFast } from '../redis/connection.ts';
import { KeyNames } from '../redis/names.ts';
import { type Shards, shardsOf } from '../redis/shards.ts';
import { Store } from '../redis/store.ts';
import type { ScriptDeps } from '../script-deps.ts';
import type { LimiterTiming } from '../timing.ts';

export const ROOMY_PLAN = generousPlan();

export interface KeyLimits {
  readonly requestsPerMinute: number;
  readonly requestsAtOnce: number;
  readonly expiresOn: string | null;
  readonly expiresAt: Date | null;
  readonly modelIds: readonly string[] | null;
}

export const ROOMY_KEY: KeyLimits = {
  requestsPerMinute: 6_000,
  requestsAtOnce: 256,
  expiresOn: null,
  expiresAt: null,
  modelIds: null,
};

export interface TestKey extends ParsedApiKey {
  readonly orgId: string;
  readonly keyId: string;
}

export const connectDb = (url: string): Db => createDb(url, { maxConnections: 4, ...PATIENT_DB });

/** Makes an organization on a plan of its own. */
export async function makeOrg(db: Db, limits: Partial<typeof ROOMY_PLAN> = {}): Promise<string> {
  const planId = newPlanId();
  const orgId = newOrgId();
  const plan = { ...ROOMY_PLAN, ...limits };
  await db.plan.create({
    data: { id: planId, name: planId, position: 9, ...plan },
  });
  await db.org.create({ data: { id: orgId, slug: orgId.toLowerCase(), name: orgId, planId } });
  return orgId;
}

/** Changes the current values of the plan, as `packages/control` does. */
export async function changePlan(db: Db, orgId: string, limits: Partial<typeof ROOMY_PLAN>): Promise<void> {
  const { planId } = await db.org.findUniqueOrThrow({ where: { id: orgId } });
  await db.$transaction([
    db.plan.update({ where: { id: planId }, data: limits }),
    db.org.update({ where: { id: orgId }, data: { limitsVersion: { increment: 1 } } }),
  ]);
}

export async function makeKey(db: Db, orgId: string, limits: Partial<KeyLimits> = {}): Promise<TestKey> {
  const { expiresOn, modelIds, ...rest } = { ...ROOMY_KEY, ...limits };
  const keyId = newKeyId();
  const { value, prefix, hash } = newApiKey(orgTagOf(orgId));
  await db.apiKey.create({
    data: {
      id: keyId,
      orgId,
      name: 'test',
      prefix,
      hash: new Uint8Array(hash),
      allModels: modelIds === null,
      expiresOn: expiresOn === null ? null : new Date(`${expiresOn}T00:00:00Z`),
      models: { create: (modelIds ?? []).map((modelId) => ({ modelId })) },
      ...rest,
    },
  });
  const parsed = parseApiKey(value);
  if (!parsed) throw new Error('a new key cannot be parsed');
  return { ...parsed, orgId, keyId };
}

export async function makeModel(db: Db, orgId: string): Promise<string> {
  const id = newModelId();
  await db.model.create({
    data: {
      id,
      orgId,
      name: id,
      kind: 'text',
      mode: 'always_on',
      contextTokens: 4_096,
      driver: 'external',
      settings: {},
      condition: 'running',
    },
  });
  return id;
}

/** A busy machine may stand still for longer than production waits. */
export const PATIENT_MS = 60_000;

/** For `Seeder`. */
export const PATIENT_READS = { readTimeoutMs: PATIENT_MS } as const;

/** The default of limiters under test. An instance that has sent one heartbeat lives on. */
const PATIENT_TIMING: Partial<LimiterTiming> = {
  ...PATIENT_READS,
  answerTimeoutMs: PATIENT_MS,
  leaseMs: 3_600_000,
};

/** Starts a limiter without logs on a free port. */
export const startTestLimiter = (
  options: Pick<LimiterOptions, 'redisUrl' | 'db'> & Partial<LimiterOptions>,
): Promise<Limiter> =>
  startLimiter({
    host: '127.0.0.1',
    port: 0,
    trust: { tokens: [], tls: null },
    redisPrefix: 'tg:',
    clockOffsetMs: 0,
    logger: createLogger({ service: 'limiter', level: 'silent' }),
    metrics: createMetrics('limiter'),
    ...options,
    timing: { ...PATIENT_TIMING, ...options.timing },
  });

export interface TestStore {
  readonly shards: Shards;
  readonly redis: RedisClient;
  readonly store: Store;
  readonly names: KeyNames;
  /** Runs a command on every server of a cluster, or on the only server. */
  everywhere(command: string, ...args: string[]): Promise<unknown[]>;
  /** The `ScriptDeps` at a limiter time shifted from Redis' clock. */
  scriptDepsAt(offsetMs: number): ScriptDeps;
}

/** Gives access to Redis as scripts see it, without a limiter. */
export async function openStore(redisUrl: string): Promise<TestStore> {
  const redis = createRedisClient(redisUrl, failFast(PATIENT_MS));
  const shards = shardsOf(redis);
  await redis.connect();
  for (let i = 0; !shards.whole(); i++) {
    if (i === 1_000) throw new Error('the Redis Cluster is not complete');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const store = new Store({ shards });
  const names = new KeyNames('tg:');
  const everywhere = (command: string, ...args: string[]) =>
    Promise.all(shards.all().map((shard) => shard.call(command, ...args)));
  return {
    redis,
    shards,
    store,
    names,
    everywhere,
    scriptDepsAt: (ms) => ({ store, names, clock: new LimiterClock(ms) }),
  };
}
