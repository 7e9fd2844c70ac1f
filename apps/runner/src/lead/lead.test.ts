import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db, SILENCE_MS } from '@tidegate/db';
import { identify } from '@tidegate/processes';
import { createLogger } from '@tidegate/runtime';
import {
  eventually,
  findPgbouncer,
  isPidAlive,
  itOnLinux,
  PATIENT_DB,
  TcpProxy,
  testPgbouncer,
  testPostgres,
} from '@tidegate/testing';
import type { Runner } from '../runner.ts';
import { Harness } from '../testing/harness.ts';
import {
  createLeaseDb,
  LEAD_TIMINGS,
  LEASE_STATEMENT_MS,
  type Lead,
  type LeadOptions,
  MARGIN_MS,
  takeLead,
} from './lead.ts';
import { hasEnded, ownProcess } from './own-process.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

const logger = createLogger({ service: 'runner', level: 'silent' });
const LONG_MS = 600_000;
const DAY_MS = 86_400_000;
/** A lease that is renewed often and lasts longer than any test. */
const STEADY = { leaseMs: LONG_MS, renewMs: 50, tryMs: 20 };

async function candidate(options: Partial<LeadOptions> = {}): Promise<Lead> {
  const taken = await takeLead(
    {
      db: harness.db,
      candidate: { pool: 'local', holder: 'one', process: null },
      timings: STEADY,
      logger,
      onStandby: () => {},
      ...options,
    },
    new AbortController().signal,
  );
  if (!taken) throw new Error('the lead was not taken');
  harness.onClose(() => taken.release());
  return taken;
}

/** Looks like another leader to the others, until its lease is ended. */
async function anotherTakesTheLead(): Promise<{ end(): Promise<void> }> {
  await harness.db.$executeRaw`
    UPDATE runner_lease SET epoch = epoch + 1, holder = 'another', process = NULL, expires_at = now() + interval '1 h'`;
  return { end: async () => void (await harness.db.$executeRaw`UPDATE runner_lease SET expires_at = now()`) };
}

describe('the lead', () => {
  it('holds while it is renewed, and not once its lease has expired, even if no timer has fired', async () => {
    expect((await candidate()).holds()).toBe(true);
    const leaseMs = 1_500;
    const lead = await candidate({
      candidate: { pool: 'gpu0', holder: 'one', process: null },
      timings: { leaseMs, renewMs: LONG_MS, tryMs: 20 },
    });
    // The process stands still: nothing else can run.
    const untilMs = performance.now() + leaseMs;
    while (performance.now() < untilMs);
    expect([lead.holds(), lead.lost.aborted]).toEqual([false, true]);
  });
});

it('the lead is requested again and again while Postgres is away, and the log says so once', async () => {
  const said: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => said.push(JSON.parse(line)) };
  const log = createLogger({ service: 'runner', level: 'info', destination });
  const away = createDb('postgresql://127.0.0.1:1/none', PATIENT_DB);
  harness.onClose(() => closeDb(away));
  let tries = 0;
  const db = new Proxy(away, {
    get(target, name) {
      if (name === '$queryRaw') tries++;
      return Reflect.get(target, name);
    },
  });
  const stop = new AbortController();
  const timings = { ...STEADY, tryMs: 5 };
  const pool = { pool: 'local', holder: 'one', process: null };
  const options = { db, candidate: pool, timings, logger: log, onStandby: () => {} };
  const taken = takeLead(options, stop.signal);
  await eventually(() => tries >= 3);
  stop.abort();
  expect(await taken).toBeNull();
  expect(said.map(({ msg }) => msg)).toEqual(['the lease in Postgres could not be requested: trying again']);
});

describe('one of several runners', () => {
  it('leads; another stands by, is ready, names the leader, and takes over when that one ends', async () => {
    const first = await harness.start();
    const said: string[] = [];
    const second = harness.standBy({ logTo: (line) => said.push(line) });
    await eventually(() => second.problem() === null);
    await harness.elapse(300);
    expect([first.runner?.leads(), second.leads()]).toEqual([true, false]);
    const standing = said.map((line) => JSON.parse(line)).filter(({ leader }) => leader);
    expect(standing.map(({ leader, msg }) => [leader, msg])).toEqual([
      ['test', 'another runner leads this pool: standing by'],
    ]);
    await first.runner?.close();
    await second.leading;
    expect([second.problem(), second.leads()]).toEqual([null, true]);
  });

  it('is not ready on standby while Postgres cannot say who leads, and is again once it can', async () => {
    const first = await harness.start();
    const second = harness.standBy({ leaseMs: 1_000 });
    await eventually(() => second.problem() === null);
    await harness.db.$transaction(async (tx) => {
      await tx.$executeRaw`LOCK TABLE runner_lease IN ACCESS EXCLUSIVE MODE`;
      await eventually(() => second.problem() !== null);
      expect(second.problem()).toContain('it does not know which runner leads its pool');
      expect(first.runner?.problem()).toBeNull();
    });
    await eventually(() => second.problem() === null);
    expect([first.runner?.leads(), second.leads()]).toEqual([true, false]);
  });

  it('leads again after its lease was lost, with later revisions', async () => {
    const first = await harness.start();
    const watcher = first.watch('gw_1');
    await eventually(() => watcher.revision > 0);
    const second = harness.standBy();
    const other = await anotherTakesTheLead();
    await watcher.ended;
    await other.end();
    const both = [first.runner as Runner, second];
    const port = await Promise.race(both.map(({ leading }) => leading));
    const after = harness.connect(port).watch('gw_1');
    await eventually(() => after.revision > watcher.revision);
    await harness.elapse(500);
    expect(both.filter((runner) => runner.leads())).toHaveLength(1);
  });

  it('can be closed on standby without having led', async () => {
    await harness.start();
    const second = harness.standBy();
    await second.close();
    await expect(second.leading).rejects.toThrow('closed before it led');
  });
});

describe('a runner that has a hanging connection to Postgres', () => {
  it('renews its lease over another one', async () => {
    const proxy = await TcpProxy.start(Number(new URL(harness.url).port));
    harness.onClose(() => proxy.stop());
    const leaseDb = createLeaseDb(proxy.urlFor(harness.url));
    harness.onClose(() => closeDb(leaseDb));
    const { renewMs } = LEAD_TIMINGS;
    const lead = await candidate({ db: leaseDb, timings: { leaseMs: LONG_MS, renewMs, tryMs: 20 } });
    proxy.hang();
    const { expiresAt } = await harness.db.runnerLease.findFirstOrThrow();
    const renewed = async () => (await harness.db.runnerLease.findFirstOrThrow()).expiresAt > expiresAt;
    await eventually(renewed);
    expect(lead.lost.aborted).toBe(false);
  });

  it('has time for that before its lead ends', () => {
    const { leaseMs, renewMs, tryMs } = LEAD_TIMINGS;
    const renewedAfterMs = renewMs + LEASE_STATEMENT_MS + SILENCE_MS + tryMs;
    // Half a second for the renewal itself.
    expect(renewedAfterMs + 500).toBeLessThan(leaseMs - MARGIN_MS);
  });
});

describe('a model whose row is locked', () => {
  it('does not keep an owner from stopping another one', async () => {
    const [locked, other] = [await harness.publish(), await harness.publish()];
    const runner = await harness.start();
    await harness.db.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM model WHERE id = ${locked} FOR UPDATE`;
      runner.stopModel(locked).catch(() => {});
      await eventually(waitsForAModel);
      expect(await runner.stopModel(other)).toMatchObject({ condition: 'CONDITION_STOPPED' });
    });
  });
});

describe('a runner that loses the lead', () => {
  it('leaves its models serving, does not act, and writes nothing, until it leads the same models again', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const first = await harness.start();
    const runner = first.runner as Runner;
    const watcher = first.watch('gw_1');
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    await eventually(async () => (await row()).condition === 'running');
    const other = await anotherTakesTheLead();
    await watcher.ended;
    expect(runner.leads()).toBe(false);
    await expect(first.stopModel(model.modelId, 1_000)).rejects.toThrow();
    const [replica] = watcher.models.get(model.modelId)?.replicas ?? [];
    expect((await fetch(`${replica?.baseUrl}/models`)).status).toBe(200);
    await other.end();
    const again = harness.connect(await runner.leading).watch('gw_1');
    await eventually(() => again.models.get(model.modelId));
    expect(runner.leads()).toBe(true);
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
      await eventually(() => !isPidAlive(model.starts()[0]?.pid ?? 0));
      await eventually(waitsForAModel);
      // The write that waits does not keep another runner from the lease.
      await anotherTakesTheLead();
    });
    await eventually(async () => !(await waitsForAModel()));
    expect((await row()).condition).toBe('running');
    await eventually(() => runner.runner?.leads() === false);
  });

  it('before it has taken over its models does so once it leads again', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await harness.db.$transaction(async (tx) => {
      await tx.$executeRaw`LOCK TABLE model IN ACCESS EXCLUSIVE MODE`;
      const waiting = harness.standBy();
      await eventually(async () => (await harness.db.runnerLease.count()) > 0);
      const other = await anotherTakesTheLead();
      await eventually(() => waiting.problem() === null);
      expect(waiting.leads()).toBe(false);
      await other.end();
      return waiting;
    });
    const client = harness.connect(await runner.leading);
    expect(await client.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(model.starts()).toHaveLength(1);
  });
});

const waitsForAModel = async (): Promise<boolean> => {
  const waiting = await harness.db.$queryRaw<unknown[]>`
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%condition_reason%'`;
  return waiting.length > 0;
};

describe('the lease', () => {
  const lease = () => harness.db.runnerLease.findFirstOrThrow();

  it('of a runner that is silent is free when it has expired, and not before', async () => {
    await candidate({ timings: { ...STEADY, leaseMs: 1_000, renewMs: LONG_MS } });
    const { expiresAt } = await lease();
    await candidate({ candidate: { pool: 'local', holder: 'two', process: null } });
    const [{ now } = { now: new Date(0) }] = await harness.db.$queryRaw<{ now: Date }[]>`SELECT now()`;
    expect(now.getTime()).toBeGreaterThanOrEqual(expiresAt.getTime());
    expect(await lease()).toMatchObject({ epoch: 2n, holder: 'two' });
  });

  it('of a process that can be seen to have ended is free immediately, and of one that runs is not', async () => {
    const child = spawn('sleep', ['1000']);
    const own = ownProcess() ?? '';
    const known = identify(child.pid ?? 0);
    const named = `${own.split(' ')[0]} ${known?.pid} ${known?.identity}`;
    await candidate({ candidate: { pool: 'local', holder: 'child', process: named } });
    const ending = new AbortController();
    const seen = new Set<string>();
    const next = takeLead(
      {
        db: harness.db,
        candidate: { pool: 'local', holder: 'next', process: null },
        timings: STEADY,
        logger,
        onStandby: (holder) => seen.add(holder),
      },
      ending.signal,
    );
    await eventually(() => seen.has('child'));
    expect(await lease()).toMatchObject({ epoch: 1n });
    child.kill('SIGKILL');
    await once(child, 'exit');
    harness.onClose(await next.then((lead) => () => lead?.release()));
    expect(await lease()).toMatchObject({ epoch: 2n, holder: 'next' });
  });

  itOnLinux(it)('is free for the process that has taken it but got no answer', async () => {
    const process = ownProcess();
    await candidate({ candidate: { pool: 'local', holder: 'untold', process } });
    await candidate({ candidate: { pool: 'local', holder: 'told', process } });
    expect(await lease()).toMatchObject({ epoch: 2n, holder: 'told' });
  });

  itOnLinux(it)(
    'is not mistaken for that of another runner when its own process takes it once more and gets no answer',
    async () => {
      const process = ownProcess();
      await candidate({ candidate: { pool: 'local', holder: 'untold', process } });
      let read = false;
      // An earlier attempt takes effect after the lease is read and before it is taken.
      const takenBetween = async (row: Promise<unknown>) => {
        await row;
        read = true;
        await harness.db.$executeRaw`UPDATE runner_lease SET epoch = epoch + 1`;
        return row;
      };
      const db = new Proxy(harness.db, {
        get(target, name) {
          if (name !== '$queryRaw' || read) return Reflect.get(target, name);
          return (...query: Parameters<Db['$queryRaw']>) => takenBetween(target.$queryRaw(...query));
        },
      });
      const others: string[] = [];
      const told = { pool: 'local', holder: 'told', process };
      await candidate({ db, candidate: told, onStandby: (holder) => others.push(holder) });
      expect(await lease()).toMatchObject({ epoch: 3n, holder: 'told' });
      expect(others).toEqual([]);
    },
  );

  it('of a process that cannot be seen from here is never taken for ended', () => {
    const [namespace, pid, identity] = ownProcess()?.split(' ') ?? [];
    expect(hasEnded(`${namespace} ${pid} ${identity}`)).toBe(false);
    expect(hasEnded(`${namespace} 999999999 ${identity}`)).toBe(true);
    expect(hasEnded(`pid:[1] 999999999 ${identity}`)).toBe(false);
    expect(hasEnded(`${namespace} 999999999 another-boot:12`)).toBe(false);
    for (const unknown of [null, '', 'x', `${namespace} 5`]) expect(hasEnded(unknown)).toBe(false);
  });

  it('is kept through a short outage of Postgres, and given up in time in a long one', async () => {
    const short = await candidate({ timings: { leaseMs: LONG_MS, renewMs: 20, tryMs: 20 } });
    await harness.db.$transaction(async (tx) => {
      await tx.$executeRaw`LOCK TABLE runner_lease IN ACCESS EXCLUSIVE MODE`;
      await harness.elapse(300);
    });
    expect(short.lost.aborted).toBe(false);
    await short.release();

    const timings = { leaseMs: 900, renewMs: 20, tryMs: 20 };
    const unasked = await candidate({ candidate: { pool: 'gpu0', holder: 'one', process: null }, timings });
    const long = await candidate({ timings });
    await harness.db.$transaction(async (tx) => {
      await tx.$executeRaw`LOCK TABLE runner_lease IN ACCESS EXCLUSIVE MODE`;
      const isHeld = async () => {
        const [{ held } = { held: false }] = await tx.$queryRaw<{ held: boolean }[]>`
          SELECT expires_at > clock_timestamp() AS held FROM runner_lease WHERE pool = 'local'`;
        return held;
      };
      // The server is asked first, so a pause in between cannot make the lead look too long.
      await eventually(async () => !(await isHeld()), { intervalMs: 10 });
      expect(long.holds()).toBe(false);
      // It ends by itself, although nobody asks whether it holds.
      await eventually(() => unasked.lost.aborted);
    });
  });

  it('fences: whoever has lost it writes nothing, and learns of the loss', async () => {
    const modelId = await harness.publish();
    const lead = await candidate({ timings: { ...STEADY, renewMs: LONG_MS } });
    const write = (condition: string) =>
      lead.writeCondition({ modelId, condition, reason: null, at: new Date() });
    await write('running');
    await anotherTakesTheLead();
    await expect(write('stopped')).rejects.toThrow('another runner has taken the lease');
    expect(lead.lost.aborted).toBe(true);
    await expect(write('stopped')).rejects.toThrow('this runner no longer leads');
    expect(await harness.db.model.findUniqueOrThrow({ where: { id: modelId } })).toMatchObject({
      condition: 'running',
    });
    expect(await historyOf(modelId)).toEqual(['running']);
  });

  it('keeps the last 200 conditions of a model, for 35 days, without what a process printed', async () => {
    const [modelId, other] = [await harness.publish(), await harness.publish()];
    const lead = await candidate({ timings: { ...STEADY, renewMs: LONG_MS } });
    const nowMs = Date.UTC(2026, 10, 22, 12);
    const write = (id: string, condition: string, atMs: number, reason: string | null = null) =>
      lead.writeCondition({ modelId: id, condition, reason, at: new Date(atMs) });
    await write(other, 'stopped', nowMs - 36 * DAY_MS);
    await write(other, 'asleep', nowMs - 34 * DAY_MS);
    await harness.db.conditionChange.createMany({
      data: Array.from({ length: 199 }, (_, i) => ({
        modelId,
        condition: 'asleep' as const,
        at: new Date(nowMs - 1_000 - i),
      })),
    });
    await write(modelId, 'starting', nowMs - 1);
    // Written again, as after an answer that was lost.
    for (let i = 0; i < 2; i++) await write(modelId, 'failed', nowMs, 'It ended.\nIt printed this.');
    const kept = await historyOf(modelId);
    expect(kept).toHaveLength(200);
    expect(kept.slice(0, 3)).toEqual(['failed', 'starting', 'asleep']);
    expect(await historyOf(other)).toEqual(['asleep']);
    const last = await harness.db.conditionChange.findFirst({ where: { modelId, condition: 'failed' } });
    expect(last?.reason).toBe('It ended.');
  });

  it('notes a condition that repeats once, and again when its last note is too old to be kept', async () => {
    const modelId = await harness.publish();
    const lead = await candidate({ timings: { ...STEADY, renewMs: LONG_MS } });
    const nowMs = Date.UTC(2026, 10, 22, 12);
    const write = (condition: string, reason: string | null, atMs: number) =>
      lead.writeCondition({ modelId, condition, reason, at: new Date(atMs) });
    await write('failed', 'It ended.\nIt printed this.', nowMs);
    await write('failed', 'It ended.\nIt printed that.', nowMs + 1_000);
    expect(await historyOf(modelId)).toEqual(['failed']);
    const { conditionAt } = await harness.db.model.findUniqueOrThrow({ where: { id: modelId } });
    expect(conditionAt.getTime()).toBe(nowMs + 1_000);

    await write('failed', 'It was killed.', nowMs + 2_000);
    await write('stopped', null, nowMs + 3_000);
    await write('stopped', null, nowMs + 4_000);
    expect(await historyOf(modelId)).toEqual(['stopped', 'failed', 'failed']);

    // Two conditions in one millisecond: the later one counts.
    for (const condition of ['starting', 'stopped']) await write(condition, null, nowMs + 5_000);
    expect((await historyOf(modelId))[0]).toBe('stopped');

    await write('stopped', null, nowMs + 40 * DAY_MS);
    expect(await historyOf(modelId)).toEqual(['stopped']);
  });
});

/** Newest first. */
async function historyOf(modelId: string): Promise<string[]> {
  const changes = await harness.db.conditionChange.findMany({ where: { modelId }, orderBy: { at: 'desc' } });
  return changes.map(({ condition }) => condition);
}

describe('behind a pooler that gives each transaction another session', () => {
  // The first use may install it.
  beforeAll(findPgbouncer, 180_000);

  it.each([
    ['the last server first', {}],
    ['each server in turn', { server_round_robin: 1 }],
    ['one server for all', { default_pool_size: 1 }],
  ])('one runner leads (%s)', async (_name, settings) => {
    const pooler = await testPgbouncer(harness.url, {
      pool_mode: 'transaction',
      ignore_startup_parameters: 'statement_timeout',
      ...settings,
    });
    harness.onClose(() => pooler.stop());
    const ending = new AbortController();
    const dbs: Db[] = [0, 1, 2].map(() => createDb(pooler.url, { maxConnections: 2 }));
    harness.onClose(() => Promise.all(dbs.map(closeDb)));
    const leads = dbs.map((db, i) =>
      takeLead(
        {
          db,
          candidate: { pool: 'local', holder: `runner ${i}`, process: null },
          timings: STEADY,
          logger,
          onStandby: () => {},
        },
        ending.signal,
      ),
    );
    const first = await Promise.race(leads);
    await harness.elapse(500);
    ending.abort();
    const taken = (await Promise.all(leads)).filter((lead) => lead !== null);
    expect(taken).toEqual([first]);
    expect(first?.lost.aborted).toBe(false);
    await first?.release();
  });
});
