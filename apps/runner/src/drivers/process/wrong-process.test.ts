import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seal } from '@tidegate/contracts';
import type { Prisma } from '@tidegate/db';
import { eventually, isPidAlive, testPostgres } from '@tidegate/testing';
import type { TestRunner } from '../../testing/client.ts';
import { Harness, type PublishedProcess } from '../../testing/harness.ts';
import { FAST } from '../../testing/timings.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

const change = async (
  runner: TestRunner,
  { modelId }: PublishedProcess,
  data: Prisma.ModelUncheckedUpdateInput,
): Promise<void> => {
  await harness.db.model.update({ where: { id: modelId }, data: { ...data, version: { increment: 1 } } });
  await runner.refresh(modelId);
};
const sealed = (key: string) => Uint8Array.from(seal(harness.secretKey, key));
const pidsOf = (model: PublishedProcess) => model.starts().map(({ pid }) => pid);
const settingsOf = async ({ modelId }: PublishedProcess) =>
  (await harness.db.model.findUniqueOrThrow({ where: { id: modelId } })).settings as Prisma.InputJsonObject;

/** Nothing is found out just because time passes. */
const UNHURRIED = { ...FAST, drivers: { ...FAST.drivers, probeMs: 3_600_000 } };
const REFUSED = 'The server refused the upstream key (401).';

describe('a process whose health path answers', () => {
  it('has not started if nothing is at the paths of the API', async () => {
    const model = await harness.publishProcess({ how: 'bare' });
    const { condition, reason } = await (await harness.start()).wake(model.modelId);
    expect(condition).toBe('CONDITION_FAILED');
    expect(reason).toMatch(/^No chat completions API at http:\S+\/v1: \/models answered 404\.$/);
  });

  it('runs although its API answers no GET, if a health path was given', async () => {
    const model = await harness.publishProcess({ how: 'bare', settings: { healthPath: '/health' } });
    const { condition } = await (await harness.start()).wake(model.modelId);
    expect(condition).toBe('CONDITION_RUNNING');
  });

  it.each([
    ['key', { how: 'key=sk-up' }, () => ({ upstreamKey: sealed('sk-no') }), REFUSED],
    [
      'name',
      { how: 'serves=tide' },
      () => ({ upstreamModel: 'moon' }),
      "The server does not serve 'moon'. It serves tide.",
    ],
  ])(
    'fails when its upstream %s is changed to a wrong one, and recovers without a new process when that is changed back',
    async (_what, how, wrong, reason) => {
      const right = { upstreamKey: sealed('sk-up'), upstreamModel: 'tide' };
      const model = await harness.publishProcess(how, right);
      const runner = await harness.start({ timings: UNHURRIED });
      const watcher = runner.watch('gw_1');
      await runner.wake(model.modelId);
      await change(runner, model, wrong());
      await eventually(() => watcher.condition(model.modelId) === 'CONDITION_FAILED');
      expect(watcher.models.get(model.modelId)).toMatchObject({ reason, replicas: [] });
      await change(runner, model, right);
      await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
      expect(pidsOf(model)).toHaveLength(1);
    },
  );

  it('fails when the runner that finds it again has a wrong key for it, without a new process', async () => {
    const model = await harness.publishProcess({ how: 'key=sk-up' }, { upstreamKey: sealed('sk-up') });
    const first = await harness.start({ stopModelsOnExit: false });
    await first.wake(model.modelId);
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: model.modelId } });
    await eventually(async () => (await row()).condition === 'running');
    await first.runner?.close();
    const data = { upstreamKey: sealed('sk-no'), mode: 'always_on' } as const;
    await harness.db.model.update({ where: { id: model.modelId }, data });
    const watcher = (await harness.start({ timings: UNHURRIED })).watch('gw_1');
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_FAILED');
    expect(watcher.models.get(model.modelId)?.reason).toBe(REFUSED);
    expect(pidsOf(model).map(isPidAlive)).toEqual([true]);
  });

  it('is ended after its start timeout if it wakes on request, and kept if it is always on', async () => {
    const wrong = { upstreamKey: sealed('sk-no') };
    const publish = (mode: 'always_on' | 'wake_on_request') =>
      harness.publishProcess(
        { how: 'key=sk-up', settings: { startTimeoutS: 600 } },
        { upstreamKey: sealed('sk-up'), mode },
      );
    const [waking, kept] = [await publish('wake_on_request'), await publish('always_on')];
    let aheadMs = 0;
    const runner = await harness.start({ monotonicMs: () => performance.now() + aheadMs });
    const watcher = runner.watch('gw_1');
    const refused = ({ modelId }: PublishedProcess) => {
      const { condition, reason } = watcher.models.get(modelId) ?? {};
      return condition === 'CONDITION_FAILED' && reason === REFUSED;
    };
    for (const model of [waking, kept]) await runner.wake(model.modelId);
    for (const model of [kept, waking]) await change(runner, model, wrong);
    await eventually(() => [kept, waking].every(refused));
    expect(pidsOf(waking).map(isPidAlive)).toEqual([true]);
    aheadMs = 600_000;
    await eventually(() => pidsOf(waking).every((pid) => !isPidAlive(pid)));
    await eventually(() => watcher.models.get(waking.modelId)?.wakeable);
    expect([waking, kept].map(refused)).toEqual([true, true]);
    expect(pidsOf(kept).map(isPidAlive)).toEqual([true]);
  });

  it('is replaced when its model, which cannot be called, gets another command', async () => {
    const model = await harness.publishProcess({ how: 'key=sk-up' }, { upstreamKey: sealed('sk-up') });
    const next = await harness.publishProcess();
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await runner.wake(model.modelId);
    await change(runner, model, { upstreamKey: sealed('sk-no') });
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_FAILED');
    await change(runner, model, { settings: await settingsOf(next) });
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
    expect(pidsOf(model).map(isPidAlive)).toEqual([false]);
    expect(next.starts()).toHaveLength(1);
  });
});
