import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, isPidAlive, testPostgres } from '@tidegate/testing';
import { Harness } from '../../testing/harness.ts';
import { FAST } from '../../testing/timings.ts';
import { readRecord } from './state-file.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

/** A model whose process ignores being told to end, and whose runner died while ending it. */
async function leftWhileEnding() {
  const model = await harness.publishProcess({ how: 'stubborn' }, { sleepAfterS: 1 });
  const patient = { ...FAST, drivers: { ...FAST.drivers, stopGraceMs: 60_000 } };
  const first = await harness.start({ timings: patient, stopModelsOnExit: false });
  await first.wake(model.modelId);
  await eventually(() => readRecord(harness.stateDir, model.modelId)?.ending);
  await first.runner?.close();
  return model;
}
const pids = (model: { starts(): { pid: number }[] }) => model.starts().map(({ pid }) => pid);

describe('a process that was told to end just before its runner ended', () => {
  it('is ended by the next runner, and its model stays asleep and never fails', async () => {
    const model = await leftWhileEnding();
    const [pid = 0] = pids(model);
    expect(isPidAlive(pid)).toBe(true);
    const watcher = (await harness.start()).watch('gw_1');
    await eventually(() => !isPidAlive(pid) && watcher.condition(model.modelId));
    await eventually(() => readRecord(harness.stateDir, model.modelId) === null);
    const seen = watcher.updates.flatMap(({ models }) => models.map(({ condition }) => condition));
    expect(new Set(seen)).toEqual(new Set(['CONDITION_ASLEEP']));
    expect(model.starts()).toHaveLength(1);
  });

  it('is replaced when its model is woken, and the new one keeps its record although two runners ended the old one', async () => {
    const model = await leftWhileEnding();
    const runner = await harness.start();
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    const [first = 0, second = 0] = pids(model);
    expect([isPidAlive(first), isPidAlive(second)]).toEqual([false, true]);
    await harness.elapse(100);
    expect(readRecord(harness.stateDir, model.modelId)?.pid).toBe(second);
  });
});
