import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { FakeRunner } from '../testing/fake-runner.ts';
import { type Harness, hello, startHarness } from '../testing/harness.ts';

let harness: Harness;
let gpu: FakeRunner;
afterEach(async () => {
  await harness.stop();
  gpu.stop();
});

const ask = (model: string) => harness.complete({ ...hello, model });
/** Publishes a model in the pool gpu0. */
const publish = async (change: object = {}) => {
  const { orgId, model } = harness;
  const replicas = [{ replicaId: 'gpu-1', baseUrl: `${model.url}/v1` }];
  const common = { orgId, kind: 'text', contextTokens: 4_096, publishedAtMs: 2, version: 1 };
  gpu.update({ modelId: 'mdl_gpu', name: 'gpu', mode: 'wake_on_request', ...common, replicas, ...change });
};
const list = async () => {
  const headers = { authorization: `Bearer ${harness.apiKey}` };
  const answer = await fetch(`${harness.url}/models`, { headers });
  const { data } = (await answer.json()) as { data?: { id: string }[] };
  return data?.map(({ id }) => id).sort() ?? answer.status;
};

describe('a gateway of two pools', () => {
  it('serves the models of both, and goes on with what it knows of a pool whose runner goes away', async () => {
    gpu = await new FakeRunner().start();
    harness = await startHarness({ pools: { gpu0: gpu.address } });
    await publish({ condition: 'CONDITION_RUNNING' });
    await eventually(async () => (await ask('gpu')).status === 200);
    expect(await list()).toEqual(['gpu', 'text']);
    gpu.stop();
    await eventually(() => !harness.watches.live);
    harness.runner.update({ modelId: [...harness.runner.models.keys()][0] ?? '', contextTokens: 99 });
    await eventually(() => harness.gateway.catalog.find(harness.orgId, 'text')?.contextTokens === 99);
    expect([(await ask('gpu')).status, await list()]).toEqual([200, ['gpu', 'text']]);
    await gpu.start();
    await eventually(() => harness.watches.live);
  });

  it('wakes a model through the runner of its pool', async () => {
    gpu = await new FakeRunner().start();
    harness = await startHarness({ pools: { gpu0: gpu.address } });
    await publish({ condition: 'CONDITION_ASLEEP', wakeable: true });
    await eventually(() => harness.gateway.catalog.get('mdl_gpu'));
    expect((await ask('gpu')).status).toBe(200);
    expect([gpu.wakes, harness.runner.wakes]).toEqual([['mdl_gpu'], []]);
  });

  it('that starts while one runner is away serves the other pool, and answers 500 instead of 404 for models that it cannot know', async () => {
    gpu = new FakeRunner();
    harness = await startHarness({ pools: { gpu0: '127.0.0.1:1' } });
    await eventually(() => harness.watches.tried);
    expect((await ask('text')).status).toBe(200);
    expect([(await ask('gpu')).status, await list()]).toEqual([500, 500]);
  });
});
