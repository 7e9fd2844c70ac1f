import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createMetrics } from '@tidegate/runtime';
import { eventually, isPidAlive, testPostgres } from '@tidegate/testing';
import { Harness, type PublishedProcess } from '../testing/harness.ts';

/** Models give way as soon as they are idle. */
const STEADY = { timings: { minimumStayMs: 0 } };
const STAY_MS = 3_600_000;
/** They fall asleep only to make room. */
const SLEEPLESS = { sleepAfterS: 2_000_000 };

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
  await harness.db.runnerPool.create({ data: { name: 'local', capacity: 10 } });
});
afterEach(() => harness.close());

const runs = ({ starts }: PublishedProcess) => starts().some(({ pid }) => isPidAlive(pid));
const costs = ({ modelId }: PublishedProcess, cost: number) =>
  harness.db.model.update({ where: { id: modelId }, data: { cost, version: { increment: 1 } } });
const RUNNING = { condition: 'CONDITION_RUNNING' };

describe('models that share a pool', () => {
  it('make room for one that wakes: the least recently used, never one in use, and never a pinned one', async () => {
    const busy = await harness.publishProcess({}, { cost: 3 });
    const pinned = await harness.publishProcess({}, { cost: 3, pinned: true });
    const idle = await harness.publishProcess({}, { cost: 4 });
    const next = await harness.publishProcess({}, { cost: 4 });
    const runner = await harness.start(STEADY);
    const gateway = runner.watch('gw_1');
    for (const { modelId } of [pinned, busy, idle]) await runner.wake(modelId);
    gateway.activity = [{ modelId: busy.modelId, inFlight: 1 }];
    gateway.report();
    expect(await runner.wake(next.modelId)).toMatchObject(RUNNING);
    expect([busy, pinned, idle, next].map(runs)).toEqual([true, true, false, true]);
    expect(gateway.condition(idle.modelId)).toBe('CONDITION_ASLEEP');
  });

  it('wait while nothing can give way, start when there is room, and let a caller give up before that', async () => {
    const busy = await harness.publishProcess({}, { cost: 10 });
    const next = await harness.publishProcess({}, { cost: 1 });
    const runner = await harness.start(STEADY);
    const gateway = runner.watch('gw_1');
    await runner.wake(busy.modelId);
    gateway.activity = [{ modelId: busy.modelId, inFlight: 1 }];
    gateway.report();
    await expect(runner.wake(next.modelId, 300)).rejects.toMatchObject({ code: 4 });
    expect([runs(busy), next.starts()]).toEqual([true, []]);
    const woken = runner.wake(next.modelId);
    gateway.activity = [];
    gateway.report();
    expect(await woken).toMatchObject(RUNNING);
    expect(runs(busy)).toBe(false);
  });

  it('say that they wait for room, until they have it: to gateways and operators, in Postgres and in the log', async () => {
    const busy = await harness.publishProcess({}, { cost: 8 });
    const next = await harness.publishProcess({}, { cost: 3 });
    const said: Record<string, unknown>[] = [];
    const runner = await harness.start({ ...STEADY, logTo: (line) => said.push(JSON.parse(line)) });
    const gateway = runner.watch('gw_1');
    await runner.wake(busy.modelId);
    gateway.activity = [{ modelId: busy.modelId, inFlight: 1 }];
    gateway.report();
    const woken = runner.wake(next.modelId);
    const reason = 'Waiting for room in its pool: it needs 3 of 10.';
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: next.modelId } });
    await eventually(async () => (await row()).conditionReason === reason);
    await eventually(() => gateway.models.get(next.modelId)?.reason === reason);
    expect(await runner.room()).toEqual({ used: 8, waiting: 1 });
    expect(gateway.condition(next.modelId)).toBe('CONDITION_STARTING');
    const { orgId, name } = await row();
    const waits = said.filter(({ msg }) => msg === 'a model waits for room in its pool');
    expect(waits).toMatchObject([{ modelId: next.modelId, orgId, model: name, used: 8, capacity: 10 }]);
    gateway.activity = [];
    gateway.report();
    expect(await woken).toMatchObject({ ...RUNNING, reason: '' });
    expect(await runner.room()).toEqual({ used: 3, waiting: 0 });
    await eventually(async () => (await row()).conditionReason === null);
  });

  it('start immediately when the runner is told of a larger capacity', async () => {
    const one = await harness.publishProcess({}, { cost: 10 });
    const next = await harness.publishProcess({}, { cost: 10 });
    const runner = await harness.start({ timings: { minimumStayMs: STAY_MS } });
    await runner.wake(one.modelId);
    const woken = runner.wake(next.modelId);
    await harness.db.runnerPool.update({ where: { name: 'local' }, data: { capacity: 20 } });
    await runner.refresh(one.modelId);
    expect(await woken).toMatchObject(RUNNING);
  });

  it('take the cost that they started with, even if it is changed, and the new cost from their next start on', async () => {
    const one = await harness.publishProcess({}, { cost: 4 });
    const other = await harness.publishProcess({}, { cost: 5 });
    const runner = await harness.start(STEADY);
    await runner.wake(one.modelId);
    await costs(one, 8);
    await runner.refresh(one.modelId);
    expect(await runner.wake(other.modelId)).toMatchObject(RUNNING);
    expect([one, other].map(runs)).toEqual([true, true]);
    await runner.stopModel(one.modelId);
    await runner.startModel(one.modelId);
    expect(await runner.wake(one.modelId)).toMatchObject(RUNNING);
    expect(runs(other)).toBe(false);
  });

  it('wait for their new cost when they are always on and crash, and give back their previous room', async () => {
    const always = await harness.publishProcess({}, { mode: 'always_on', cost: 4 });
    const [busy, small] = [
      await harness.publishProcess({}, { cost: 5 }),
      await harness.publishProcess({}, { cost: 5 }),
    ];
    const runner = await harness.start(STEADY);
    const gateway = runner.watch('gw_1');
    for (const { modelId } of [always, busy]) await runner.wake(modelId);
    gateway.activity = [{ modelId: busy.modelId, inFlight: 1 }];
    gateway.report();
    await costs(always, 8);
    await runner.refresh(always.modelId);
    process.kill(always.starts()[0]?.pid ?? 0, 'SIGKILL');
    await eventually(() => gateway.models.get(always.modelId)?.reason?.includes('needs 8 of 10'));
    expect(await runner.wake(small.modelId)).toMatchObject(RUNNING);
    gateway.activity = [];
    gateway.report();
    await eventually(() => runs(always));
    expect([busy, small].map(runs)).toEqual([false, false]);
  });

  it('are refused with a reason when always-on models leave too little, until one of them stops', async () => {
    const always = await harness.publishProcess({ how: 'stubborn' }, { mode: 'always_on', cost: 6 });
    const next = await harness.publishProcess({}, { cost: 5 });
    const runner = await harness.start(STEADY);
    await runner.wake(always.modelId);
    expect(await runner.wake(next.modelId)).toMatchObject({
      condition: 'CONDITION_FAILED',
      reason: "It needs 5 of its pool's 10, but always-on models leave less.",
    });
    await runner.stopModel(always.modelId);
    await runner.startModel(next.modelId);
    expect(await runner.wake(next.modelId)).toMatchObject(RUNNING);
    expect(runs(always)).toBe(false);
  });

  it('keep their room for the minimum stay after a start, even if idle, so that they do not keep ending each other', async () => {
    const [one, other] = [
      await harness.publishProcess({}, { cost: 10, ...SLEEPLESS }),
      await harness.publishProcess({}, { cost: 10, ...SLEEPLESS }),
    ];
    let aheadMs = 0;
    let setAheadMs = 0;
    const monotonicMs = () => performance.now() + aheadMs;
    const nowMs = () => Date.now() + setAheadMs;
    // Longer than any test takes: only the clock below ends a stay.
    const runner = await harness.start({ nowMs, monotonicMs, timings: { minimumStayMs: STAY_MS } });
    await runner.wake(one.modelId);
    // The machine's clock is set, which does not count as a stay.
    setAheadMs = 2 * STAY_MS;
    await expect(runner.wake(other.modelId, 300)).rejects.toMatchObject({ code: 4 });
    expect([runs(one), other.starts()]).toEqual([true, []]);
    const woken = runner.wake(other.modelId);
    aheadMs += STAY_MS;
    expect(await woken).toMatchObject(RUNNING);
    expect(runs(one)).toBe(false);
    await expect(runner.wake(one.modelId, 300)).rejects.toMatchObject({ code: 4 });
    expect([runs(other), one.starts().length]).toEqual([true, 1]);
    aheadMs += STAY_MS;
    expect(await runner.wake(one.modelId)).toMatchObject(RUNNING);
    expect([runs(other), one.starts().length]).toEqual([false, 2]);
  });

  it('keep their room for the minimum stay even when a larger one gathers room, and no longer', async () => {
    const early = await harness.publishProcess({}, { cost: 5, ...SLEEPLESS });
    const late = await harness.publishProcess({}, { cost: 5, ...SLEEPLESS });
    const large = await harness.publishProcess({}, { cost: 10, ...SLEEPLESS });
    let aheadMs = 0;
    const timings = { minimumStayMs: STAY_MS, room: { patienceMs: 100, maxFirstMs: 24 * STAY_MS } };
    const runner = await harness.start({ monotonicMs: () => performance.now() + aheadMs, timings });
    await runner.wake(early.modelId);
    aheadMs += STAY_MS / 2;
    await runner.wake(late.modelId);
    const woken = runner.wake(large.modelId);
    aheadMs += STAY_MS / 2;
    await eventually(() => !runs(early));
    expect([runs(late), large.starts()]).toEqual([true, []]);
    aheadMs += STAY_MS / 2;
    expect(await woken).toMatchObject(RUNNING);
    expect(runs(late)).toBe(false);
  });

  it('keep their room for the minimum stay even when another runner takes over in that time', async () => {
    const one = await harness.publishProcess({}, { cost: 10, ...SLEEPLESS });
    const other = await harness.publishProcess({}, { cost: 10, ...SLEEPLESS });
    let aheadMs = 0;
    const monotonicMs = () => performance.now() + aheadMs;
    const options = { monotonicMs, timings: { minimumStayMs: STAY_MS, absentGraceMs: 0 } };
    const first = await harness.start({ ...options, stopModelsOnExit: false });
    await first.wake(one.modelId);
    await first.runner?.close();
    const runner = await harness.start(options);
    await expect(runner.wake(other.modelId, 500)).rejects.toMatchObject({ code: 4 });
    expect([runs(one), other.starts()]).toEqual([true, []]);
    const woken = runner.wake(other.modelId);
    aheadMs += STAY_MS;
    expect(await woken).toMatchObject(RUNNING);
  });

  it('stay as they are when a runner takes over, and when nobody waits for room any more', async () => {
    const busy = await harness.publishProcess({}, { cost: 10 });
    const next = await harness.publishProcess({}, { cost: 10 });
    const timings = { ...STEADY.timings, room: { patienceMs: 100, maxFirstMs: 500 } };
    const first = await harness.start({ ...STEADY, stopModelsOnExit: false });
    await first.wake(busy.modelId);
    await first.runner?.close();
    const runner = await harness.start({ ...STEADY, timings });
    const gateway = runner.watch('gw_1');
    gateway.activity = [{ modelId: busy.modelId, inFlight: 1 }];
    gateway.report();
    await eventually(() => gateway.condition(busy.modelId) === 'CONDITION_RUNNING');
    const waiting = new AbortController();
    const woken = runner.wake(next.modelId, undefined, waiting.signal);
    await eventually(() => gateway.condition(next.modelId) === 'CONDITION_STARTING');
    waiting.abort();
    await expect(woken).rejects.toMatchObject({ code: status.CANCELLED });
    await eventually(() => gateway.condition(next.modelId) === 'CONDITION_ASLEEP');
    expect([busy.starts().length, next.starts()]).toEqual([1, []]);
  });

  it('show operators how full the pool is: capacity, cost and models that wait, and only through the runner that leads', async () => {
    const busy = await harness.publishProcess({}, { cost: 8 });
    const next = await harness.publishProcess({}, { cost: 3 });
    const [metrics, standbyMetrics] = [createMetrics('runner'), createMetrics('runner')];
    const runner = await harness.start({ ...STEADY, metrics });
    const standby = harness.standBy({ ...STEADY, metrics: standbyMetrics });
    await eventually(() => standby.problem() === null);
    const told = async (registry = metrics) =>
      [...(await registry.metrics()).matchAll(/^tidegate_runner_pool_(\w+)\{pool="local",.*\} (\d+)$/gm)]
        .map(([, name, value]) => `${name} ${value}`)
        .sort();
    expect(await told()).toEqual(['capacity 10', 'used 0', 'waiting_models 0']);
    const gateway = runner.watch('gw_1');
    await runner.wake(busy.modelId);
    gateway.activity = [{ modelId: busy.modelId, inFlight: 1 }];
    gateway.report();
    runner.wake(next.modelId).catch(() => {});
    await eventually(async () => (await told()).includes('waiting_models 1'));
    expect(await told()).toEqual(['capacity 10', 'used 8', 'waiting_models 1']);
    expect(await told(standbyMetrics)).toEqual([]);
    expect(await standbyMetrics.metrics()).not.toMatch(/^tidegate_runner_(models|gateways)\b.*\d$/m);

    await runner.runner?.close();
    await standby.leading;
    expect(await told()).toEqual([]);
    expect(await told(standbyMetrics)).toEqual(['capacity 10', 'used 0', 'waiting_models 0']);
  });

  it('show nothing about the room of a pool without a capacity', async () => {
    await harness.db.runnerPool.deleteMany();
    const metrics = createMetrics('runner');
    await harness.start({ metrics });
    const text = await metrics.metrics();
    expect(text).toContain('tidegate_runner_active{pool="local",service="runner"} 1');
    expect(text).not.toMatch(/^tidegate_runner_pool_/m);
  });
});
