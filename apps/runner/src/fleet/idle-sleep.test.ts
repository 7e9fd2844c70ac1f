import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createMetrics } from '@tidegate/runtime';
import { eventually, isPidAlive, testPostgres } from '@tidegate/testing';
import type { TestRunner } from '../testing/client.ts';
import { Harness, type PublishedProcess } from '../testing/harness.ts';
import type { FleetTimings } from './timings.ts';

let harness: Harness;
let model: PublishedProcess;
/** The runner's monotonic clock, which stands still. */
let nowMs: number;
const SLEEP_AFTER_MS = 1_000;
/** Gateways have as long as they need to let go of the model. */
const UNHURRIED = { drainMs: 3_600_000 };
beforeEach(async () => {
  nowMs = 0;
  harness = await Harness.create(await testPostgres());
  model = await harness.publishProcess({}, { sleepAfterS: SLEEP_AFTER_MS / 1_000 });
});
afterEach(() => harness.close());

const start = (timings: Partial<FleetTimings> = UNHURRIED, metrics = createMetrics('runner')) =>
  harness.start({ timings, metrics, monotonicMs: () => nowMs });
/** A gateway that the runner knows. */
async function watch(runner: TestRunner, instanceId: string): Promise<ReturnType<TestRunner['watch']>> {
  const watcher = runner.watch(instanceId);
  await eventually(() => watcher.updates.length > 0);
  return watcher;
}
const pid = (): number => model.starts()[0]?.pid ?? 0;

/** Whether a gateway has seen the model fall asleep after it ran. */
const sawSleep = (watcher: ReturnType<TestRunner['watch']>): boolean => {
  const conditions = watcher.updates.flatMap(({ models }) => models.map(({ condition }) => condition));
  const ran = conditions.indexOf('CONDITION_RUNNING');
  return ran >= 0 && conditions.lastIndexOf('CONDITION_ASLEEP') > ran;
};

describe('a wake-on-request model that nobody uses', () => {
  it('falls asleep once every gateway has acknowledged, ends its process, and wakes again', async () => {
    const runner = await start();
    const watchers = [await watch(runner, 'gw_1'), await watch(runner, 'gw_2')];
    await runner.wake(model.modelId);
    nowMs += SLEEP_AFTER_MS;
    await eventually(() => watchers.every((one) => one.condition(model.modelId) === 'CONDITION_ASLEEP'));
    expect(watchers[0]?.models.get(model.modelId)).toMatchObject({ replicas: [], wakeable: true });
    await eventually(() => !isPidAlive(pid()));
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    await eventually(async () => (await row()).condition === 'asleep');
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(model.starts()).toHaveLength(2);
  });

  it('stays awake as long as any gateway has a request in flight, however long ago that began', async () => {
    const runner = await start();
    const busy = await watch(runner, 'gw_busy');
    const other = await watch(runner, 'gw_other');
    busy.activity = [{ modelId: model.modelId, inFlight: 1 }];
    await runner.wake(model.modelId);
    // This waits for the gateways' reports, and each report counts as use.
    await runner.refresh(model.modelId);
    expect(await runner.inFlight(harness.orgId)).toEqual({ [model.modelId]: 1 });
    nowMs += 3_600_000;
    await harness.elapse(500);
    expect([other.condition(model.modelId), sawSleep(other)]).toEqual(['CONDITION_RUNNING', false]);
    busy.activity = [];
    busy.report();
    await eventually(() => other.condition(model.modelId) === 'CONDITION_ASLEEP');
  });

  it('is confirmed to be stopped only once every gateway has acknowledged', async () => {
    const runner = await start({ ...UNHURRIED, acknowledgeMs: 3_600_000 });
    const slow = await watch(runner, 'gw_slow');
    await runner.wake(model.modelId);
    slow.acknowledging = false;
    let isConfirmed = false;
    const stopped = runner.stopModel(model.modelId).then(() => {
      isConfirmed = true;
    });
    await eventually(() => slow.condition(model.modelId) === 'CONDITION_STOPPED');
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    await eventually(async () => (await row()).condition === 'stopped');
    expect(isConfirmed).toBe(false);
    slow.acknowledging = true;
    slow.report();
    await stopped;
  });

  it('keeps its process until the last gateway has acknowledged', async () => {
    const runner = await start();
    const prompt = await watch(runner, 'gw_prompt');
    const slow = await watch(runner, 'gw_slow');
    slow.acknowledging = false;
    await runner.wake(model.modelId);
    nowMs += SLEEP_AFTER_MS;
    await eventually(() => sawSleep(prompt));
    expect(isPidAlive(pid())).toBe(true);
    slow.acknowledging = true;
    slow.report();
    await eventually(() => !isPidAlive(pid()));
  });

  it('returns to running without a new start when a gateway does not acknowledge in time', async () => {
    const runner = await start({ drainMs: 200 });
    const deaf = await watch(runner, 'gw_deaf');
    deaf.acknowledging = false;
    await runner.wake(model.modelId);
    nowMs += SLEEP_AFTER_MS;
    await eventually(() => sawSleep(deaf));
    await eventually(() => deaf.condition(model.modelId) === 'CONDITION_RUNNING');
    expect(model.starts()).toHaveLength(1);
    expect(isPidAlive(pid())).toBe(true);
  });

  it('returns to running for a request that arrives while it is announced asleep', async () => {
    const runner = await start();
    const racing = await watch(runner, 'gw_racing');
    racing.acknowledging = false;
    await runner.wake(model.modelId);
    nowMs += SLEEP_AFTER_MS;
    await eventually(() => sawSleep(racing));
    racing.acknowledging = true;
    racing.activity = [{ modelId: model.modelId, inFlight: 1 }];
    racing.report();
    await eventually(() => racing.condition(model.modelId) === 'CONDITION_RUNNING');
    expect(model.starts()).toHaveLength(1);
  });

  it('returns to running for a wake before every gateway has acknowledged', async () => {
    const runner = await start();
    const watcher = await watch(runner, 'gw_1');
    watcher.acknowledging = false;
    await runner.wake(model.modelId);
    nowMs += SLEEP_AFTER_MS;
    await eventually(() => sawSleep(watcher));
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(model.starts()).toHaveLength(1);
    expect(isPidAlive(pid())).toBe(true);
  });

  it('is not put to sleep when a gateway has just lost its connection', async () => {
    const metrics = createMetrics('runner');
    const runner = await start({ absentGraceMs: 2_500 }, metrics);
    const lost = await watch(runner, 'gw_lost');
    const other = await watch(runner, 'gw_other');
    await runner.wake(model.modelId);
    // This waits until the runner has heard from both.
    await runner.refresh(model.modelId);
    nowMs = 1_000;
    lost.cancel();
    await eventually(async () => /^tidegate_runner_gateways\{.*\} 1$/m.test(await metrics.metrics()));
    nowMs = 3_499;
    await harness.elapse(500);
    expect([other.condition(model.modelId), sawSleep(other)]).toEqual(['CONDITION_RUNNING', false]);
    nowMs = 3_500;
    await eventually(() => other.condition(model.modelId) === 'CONDITION_ASLEEP');
  });
});
