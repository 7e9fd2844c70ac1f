import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, isPidAlive, testPostgres } from '@tidegate/testing';
import type { TestRunner } from '../testing/client.ts';
import { Harness, type PublishedProcess } from '../testing/harness.ts';

let harness: Harness;
let model: PublishedProcess;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
  model = await harness.publishProcess({}, { sleepAfterS: 1 });
});
afterEach(() => harness.close());

const pid = (): number => model.starts()[0]?.pid ?? 0;

/** Whether a gateway has seen the model fall asleep after it ran. */
const sawSleep = (watcher: ReturnType<TestRunner['watch']>): boolean => {
  const conditions = watcher.updates.flatMap(({ models }) => models.map(({ condition }) => condition));
  return conditions.lastIndexOf('CONDITION_ASLEEP') > conditions.indexOf('CONDITION_RUNNING');
};

describe('a wake-on-request model that nobody uses', () => {
  it('falls asleep once every gateway has acknowledged, ends its process, and wakes again', async () => {
    const runner = await harness.start();
    const watchers = [runner.watch('gw_1'), runner.watch('gw_2')];
    await runner.wake(model.modelId);
    await eventually(() => watchers.every((one) => one.condition(model.modelId) === 'CONDITION_ASLEEP'));
    expect(watchers[0]?.models.get(model.modelId)).toMatchObject({ replicas: [], wakeable: true });
    await eventually(() => !isPidAlive(pid()));
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    await eventually(async () => (await row()).condition === 'asleep');
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(model.starts()).toHaveLength(2);
  });

  it('stays awake as long as any gateway has a request in flight, however long ago that began', async () => {
    const runner = await harness.start();
    const busy = runner.watch('gw_busy');
    const other = runner.watch('gw_other');
    await runner.wake(model.modelId);
    await eventually(() => busy.condition(model.modelId) === 'CONDITION_RUNNING');
    busy.activity = [{ modelId: model.modelId, inFlight: 1 }];
    busy.report();
    await harness.elapse(1_500);
    expect([other.condition(model.modelId), sawSleep(other)]).toEqual(['CONDITION_RUNNING', false]);
    busy.activity = [];
    busy.report();
    await eventually(() => other.condition(model.modelId) === 'CONDITION_ASLEEP');
  });

  it('keeps its process until the last gateway has acknowledged', async () => {
    const runner = await harness.start();
    const prompt = runner.watch('gw_prompt');
    const slow = runner.watch('gw_slow');
    await runner.wake(model.modelId);
    slow.acknowledging = false;
    await eventually(() => prompt.condition(model.modelId) === 'CONDITION_ASLEEP');
    expect(isPidAlive(pid())).toBe(true);
    slow.acknowledging = true;
    slow.report();
    await eventually(() => !isPidAlive(pid()));
  });

  it('returns to running without a new start when a gateway does not acknowledge in time', async () => {
    const runner = await harness.start({ timings: { drainMs: 200 } });
    const deaf = runner.watch('gw_deaf');
    await runner.wake(model.modelId);
    deaf.acknowledging = false;
    await eventually(() => deaf.condition(model.modelId) === 'CONDITION_ASLEEP');
    await eventually(() => deaf.condition(model.modelId) === 'CONDITION_RUNNING');
    expect(model.starts()).toHaveLength(1);
    expect(isPidAlive(pid())).toBe(true);
  });

  it('returns to running for a request that arrives while it is announced asleep', async () => {
    const runner = await harness.start();
    const racing = runner.watch('gw_racing');
    await runner.wake(model.modelId);
    racing.acknowledging = false;
    await eventually(() => racing.condition(model.modelId) === 'CONDITION_ASLEEP');
    racing.acknowledging = true;
    racing.activity = [{ modelId: model.modelId, inFlight: 1 }];
    racing.report();
    await eventually(() => racing.condition(model.modelId) === 'CONDITION_RUNNING');
    expect(model.starts()).toHaveLength(1);
  });

  it('returns to running for a wake before every gateway has acknowledged', async () => {
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await runner.wake(model.modelId);
    watcher.acknowledging = false;
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_ASLEEP');
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(model.starts()).toHaveLength(1);
    expect(isPidAlive(pid())).toBe(true);
  });

  it('is not put to sleep under a gateway that has just lost its connection', async () => {
    const runner = await harness.start({ timings: { absentGraceMs: 2_500 } });
    const lost = runner.watch('gw_lost');
    const other = runner.watch('gw_other');
    await runner.wake(model.modelId);
    await harness.elapse(1_000);
    lost.cancel();
    await lost.ended;
    await harness.elapse(1_200);
    expect([other.condition(model.modelId), sawSleep(other)]).toEqual(['CONDITION_RUNNING', false]);
    await eventually(() => other.condition(model.modelId) === 'CONDITION_ASLEEP');
  });
});
