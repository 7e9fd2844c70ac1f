import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, isPidAlive, testPostgres } from '@tidegate/testing';
import { Harness } from '../testing/harness.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

const pidOf = ({ starts }: { starts(): readonly { pid: number }[] }): number => starts()[0]?.pid ?? 0;

describe('the runners of two pools', () => {
  it('both lead on one machine, and each runs only the models of its pool', async () => {
    const [here, there] = [
      await harness.publishProcess(),
      await harness.publishProcess({}, { pool: 'gpu0' }),
    ];
    const local = await harness.start();
    await local.wake(here.modelId);
    const gpu = await harness.start({ pool: 'gpu0' });
    await gpu.wake(there.modelId);
    expect([pidOf(here), pidOf(there)].map(isPidAlive)).toEqual([true, true]);
    await expect(local.wake(there.modelId)).rejects.toMatchObject({ details: 'no such model' });
    expect([...local.watch('gw').models.keys()]).not.toContain(there.modelId);
    expect(await gpu.refresh(here.modelId)).toMatchObject({ condition: 'CONDITION_UNSPECIFIED' });
    expect(await harness.db.runnerLease.count()).toBe(2);
  });

  it('hand a stopped model over when it moves', async () => {
    const model = await harness.publishProcess();
    const local = await harness.start();
    const gpu = await harness.start({ pool: 'gpu0' });
    await local.stopModel(model.modelId);
    const moved = { pool: 'gpu0', version: { increment: 1 } };
    await harness.db.model.update({ where: { id: model.modelId }, data: moved });
    expect(await local.refresh(model.modelId)).toMatchObject({ condition: 'CONDITION_UNSPECIFIED' });
    expect(await gpu.refresh(model.modelId)).toMatchObject({ condition: 'CONDITION_STOPPED' });
    await gpu.startModel(model.modelId);
    expect(await gpu.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    await eventually(async () => (await row()).condition === 'running');
  });
});
