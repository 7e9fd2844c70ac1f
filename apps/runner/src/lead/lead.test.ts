import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Prisma } from '@tidegate/db';
import { createLogger } from '@tidegate/runtime';
import { eventually, findPgbouncer, testPgbouncer, testPostgres } from '@tidegate/testing';
import pg from 'pg';
import type { Runner } from '../runner.ts';
import { Harness, isAlive } from '../testing/harness.ts';
import { LEAD_TIMINGS, type Lead, takeLead } from './lead.ts';
import { LOCK, POOLED } from './own-session.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

/** The sessions of this test's database that hold the lock. */
const HOLDERS = Prisma.sql`FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
const leadSessions = async (): Promise<number> =>
  (await harness.db.$queryRaw<unknown[]>`SELECT pid ${HOLDERS}`).length;
const endLeadSessions = () => harness.db.$queryRaw`SELECT pg_terminate_backend(pid) ${HOLDERS}`;

describe('one of several runners', () => {
  it('is active, and another stands by, not ready, and takes over when it ends', async () => {
    const first = await harness.start();
    const second = harness.standBy();
    await harness.elapse(800);
    expect([first.runner?.ready(), second.ready()]).toEqual([true, false]);
    await first.runner?.close();
    await second.active;
    expect(second.ready()).toBe(true);
  });

  it('is active again after the lock was lost, with later revisions', async () => {
    const first = await harness.start();
    const watcher = first.watch('gw_1');
    await eventually(() => watcher.revision > 0);
    const second = harness.standBy();
    await endLeadSessions();
    await watcher.ended;
    const both = [first.runner as Runner, second];
    const port = await Promise.race(both.map(({ active }) => active));
    const after = harness.connect(port).watch('gw_1');
    await eventually(() => after.revision > watcher.revision);
    await harness.elapse(1_500);
    expect(both.filter((runner) => runner.ready())).toHaveLength(1);
  });

  it('can be closed on standby without having been active', async () => {
    await harness.start();
    const second = harness.standBy();
    await second.close();
    await expect(second.active).rejects.toThrow('closed before it was active');
  });
});

/**
 * Looks like another active runner to the others. It has the lock when this returns, until its
 * session ends.
 */
async function anotherTakesTheLead(): Promise<pg.Client> {
  const other = new pg.Client({ connectionString: harness.url });
  await other.connect();
  other.on('error', () => {});
  harness.onClose(() => other.end());
  const locked = other.query(`SELECT pg_advisory_lock(${LOCK})`);
  await endLeadSessions();
  await locked;
  return other;
}

describe('a runner that loses the lead', () => {
  it('leaves its models serving, is not ready, and writes nothing, until it leads the same models again', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const first = await harness.start();
    const runner = first.runner as Runner;
    const watcher = first.watch('gw_1');
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    await eventually(async () => (await row()).condition === 'running');
    const other = await anotherTakesTheLead();
    await watcher.ended;
    expect(runner.ready()).toBe(false);
    await expect(first.stopModel(model.modelId, 1_000)).rejects.toThrow();
    const [replica] = watcher.models.get(model.modelId)?.replicas ?? [];
    expect((await fetch(`${replica?.baseUrl}/models`)).status).toBe(200);
    await other.end();
    const again = harness.connect(await runner.active).watch('gw_1');
    await eventually(() => again.models.get(model.modelId));
    expect(runner.ready()).toBe(true);
    expect(again.updates[0]?.models[0]).toMatchObject({
      condition: 'CONDITION_RUNNING',
      replicas: [replica],
    });
    expect(model.starts()).toHaveLength(1);
  });

  it('writes no more conditions, not even one that waits', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await harness.start();
    await runner.wake(model.modelId);
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    await eventually(async () => (await row()).condition === 'running');
    await harness.db.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM model WHERE id = ${model.modelId} FOR UPDATE`;
      runner.stopModel(model.modelId).catch(() => {});
      await eventually(() => !isAlive(model.starts()[0]?.pid ?? 0));
      await anotherTakesTheLead();
    });
    await harness.elapse(1_500);
    expect((await row()).condition).toBe('running');
    expect(runner.runner?.ready()).toBe(false);
  });

  it('before it has taken over its models does so once it leads again', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await harness.db.$transaction(async (tx) => {
      await tx.$executeRaw`LOCK TABLE model IN ACCESS EXCLUSIVE MODE`;
      const waiting = harness.standBy();
      await eventually(async () => (await leadSessions()) > 0);
      await endLeadSessions();
      await harness.elapse(300);
      expect(waiting.ready()).toBe(false);
      return waiting;
    });
    const client = harness.connect(await runner.active);
    expect(await client.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(model.starts()).toHaveLength(1);
  });
});

describe('the session that holds the lead', () => {
  const lead = async (timings = LEAD_TIMINGS): Promise<Lead> => {
    const logger = createLogger({ service: 'runner', level: 'silent' });
    const taken = await takeLead({ url: harness.url, timings, logger }, new AbortController().signal);
    if (!taken) throw new Error('the lead was not taken');
    harness.onClose(() => taken.release());
    return taken;
  };

  it('is ended by the server within seconds when its machine disappears', async () => {
    const { query } = await lead();
    const inForce = async (name: string) => Object.values((await query(`SHOW ${name}`))[0] ?? {})[0];
    expect({
      idle: await inForce('tcp_keepalives_idle'),
      interval: await inForce('tcp_keepalives_interval'),
      count: await inForce('tcp_keepalives_count'),
      userTimeout: await inForce('tcp_user_timeout'),
    }).toEqual({ idle: '5', interval: '2', count: '3', userTimeout: '15000' });
  });

  it('survives a failed statement, and is given up when a statement gets no answer in time', async () => {
    const { query, lost } = await lead({ ...LEAD_TIMINGS, proofMs: 60_000, proofTimeoutMs: 1_000 });
    await expect(query('SELECT 1 / 0')).rejects.toThrow('division by zero');
    expect(lost.aborted).toBe(false);
    await expect(query('SELECT pg_sleep(3)')).rejects.toThrow();
    expect(lost.aborted).toBe(true);
    await expect(query('SELECT 1')).rejects.toThrow();
  });
});

describe('behind a pooler', () => {
  // The first use may install it.
  beforeAll(findPgbouncer, 180_000);

  /**
   * Lets two runners compete for the lead through the pooler for a while. Returns how many got it,
   * and their log lines.
   */
  const contend = async (settings: Record<string, string | number>, forMs: number) => {
    const pooler = await testPgbouncer(harness.url, settings);
    harness.onClose(() => pooler.stop());
    const said: string[] = [];
    const logger = createLogger({
      ...{ service: 'runner', level: 'info', destination: { write: (line) => said.push(line) } },
    });
    const ending = new AbortController();
    const leads = [0, 1].map(() =>
      takeLead({ url: pooler.url, timings: { ...LEAD_TIMINGS, tryMs: 50 }, logger }, ending.signal),
    );
    await harness.elapse(forMs);
    ending.abort();
    const taken = (await Promise.all(leads)).filter((lead) => lead !== null);
    const held = taken.filter(({ lost }) => !lost.aborted).length;
    await Promise.all(taken.map((lead) => lead.release()));
    return { held, said: said.map((line) => JSON.parse(line)) };
  };

  it.each([
    ['the last server first', {}],
    ['each server in turn', { server_round_robin: 1 }],
    ['one server for all', { default_pool_size: 1 }],
    ['a server reset after each transaction', { server_reset_query_always: 1 }],
  ])(
    'that gives each transaction another session, no runner leads, and the log says why (%s)',
    async (_name, settings) => {
      const { held, said } = await contend({ pool_mode: 'transaction', ...settings }, 1_500);
      expect(held).toBe(0);
      expect(said).toContainEqual(expect.objectContaining({ level: 'error', msg: POOLED }));
      expect(POOLED).toMatch(/pool_mode = transaction.*directly to Postgres.*pool_mode = session/);
    },
  );

  it('that gives each connection its own session, one runner leads as usual', async () => {
    const { held, said } = await contend({ pool_mode: 'session' }, 1_500);
    expect(held).toBe(1);
    expect(said.map(({ msg }) => msg)).toEqual(['another runner is active: standing by']);
  });

  it('that later moves the connection to another session, the lead is lost', async () => {
    const pooler = await testPgbouncer(harness.url, { pool_mode: 'session' });
    harness.onClose(() => pooler.stop());
    const logger = createLogger({ service: 'runner', level: 'silent' });
    const timings = { ...LEAD_TIMINGS, proofMs: 50 };
    const lead = await takeLead({ url: pooler.url, timings, logger }, new AbortController().signal);
    harness.onClose(() => lead?.release());
    expect(lead?.lost.aborted).toBe(false);
    await lead?.query(`SELECT pg_advisory_unlock(${LOCK})`);
    await eventually(() => lead?.lost.aborted);
  });
});
