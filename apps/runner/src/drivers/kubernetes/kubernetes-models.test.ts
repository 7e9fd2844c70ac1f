import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { callUnary } from '@tidegate/rpc';
import { eventually, testPostgres } from '@tidegate/testing';
import { Harness } from '../../testing/harness.ts';
import { FakeKubernetes } from '../../testing/kubernetes.ts';

const DEPLOYMENT = 'gpu/deployments/qwen';
const WORKLOAD = { namespace: 'gpu', kind: 'deployment', name: 'qwen', service: 'qwen' };

let harness: Harness;
let cluster: FakeKubernetes;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
  cluster = await new FakeKubernetes().listen();
  harness.onClose(() => cluster.close());
  const model = createServer((_request, response) => response.end('{"data":[{"id":"qwen"}]}'));
  await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve));
  harness.onClose(() => model.close());
  const { port } = model.address() as AddressInfo;
  // The pods come and go with the count.
  cluster.onScale = (path, replicas) => {
    cluster.follow(path);
    cluster.endpoints('qwen', port, replicas > 0 ? { '127.0.0.1': true } : {});
  };
  cluster.workload(DEPLOYMENT);
  cluster.endpoints('qwen', port, {});
});
afterEach(() => harness.close());

const ENDING_POD = {
  metadata: {
    name: 'qwen-1',
    deletionTimestamp: '2026-11-21T12:00:00Z',
    deletionGracePeriodSeconds: 600,
  },
  status: { phase: 'Running' },
};

const kubernetes = () => ({
  access: cluster.kubeconfig(harness.dir),
  namespaces: new Set(['gpu']),
});
const publish = (more: object = {}): Promise<string> =>
  harness.publish({ driver: 'kubernetes', settings: WORKLOAD, sleepAfterS: 600, ...more });

const untilWritten = (id: string, condition: string) =>
  eventually(
    async () => (await harness.db.model.findUniqueOrThrow({ where: { id } })).condition === condition,
  );

describe('a Kubernetes workload that wakes on request', () => {
  it('is scaled up by its first request and down when it is idle', async () => {
    const modelId = await publish({ sleepAfterS: 1 });
    let nowMs = 0;
    const runner = await harness.start({ kubernetes: kubernetes(), monotonicMs: () => nowMs });
    const watcher = runner.watch('gw_1');
    expect(await runner.wake(modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    await eventually(() => watcher.models.get(modelId)?.replicas[0]?.baseUrl.endsWith('/v1'));
    expect(cluster.replicas(DEPLOYMENT)).toBe(1);
    nowMs = 1_000;
    await eventually(() => cluster.replicas(DEPLOYMENT) === 0);
    expect(watcher.condition(modelId)).toBe('CONDITION_ASLEEP');
  });

  it('keeps running when its runner ends, and the next runner shows it running immediately', async () => {
    const modelId = await publish();
    const first = await harness.start({ kubernetes: kubernetes(), stopModelsOnExit: true });
    await first.wake(modelId);
    await untilWritten(modelId, 'running');
    await first.runner?.close();
    expect(cluster.replicas(DEPLOYMENT)).toBe(1);
    const writes = cluster.asked.filter(({ verb }) => verb === 'update').length;
    const watcher = (await harness.start({ kubernetes: kubernetes() })).watch('gw_1');
    await eventually(() => watcher.condition(modelId));
    expect(watcher.condition(modelId)).toBe('CONDITION_RUNNING');
    expect(cluster.asked.filter(({ verb }) => verb === 'update')).toHaveLength(writes);
  });

  it('keeps running when its settings change while Kubernetes refuses to say what runs', async () => {
    const id = await publish();
    const runner = await harness.start({ kubernetes: kubernetes() });
    const watcher = runner.watch('gw_1');
    await runner.wake(id);
    await eventually(() => watcher.condition(id) === 'CONDITION_RUNNING');
    const refusal = { match: 'get deployments/scale', status: 403, message: 'may not' };
    cluster.failures.push(...Array(20).fill(refusal));
    const before = watcher.updates.length;
    await harness.db.model.update({ where: { id }, data: { sleepAfterS: 500, version: { increment: 1 } } });
    await runner.refresh(id);
    await eventually(() => cluster.failures.length === 0);
    const seen = watcher.updates.slice(before).flatMap(({ models }) => models);
    expect(new Set(seen.map(({ condition }) => condition))).toEqual(new Set(['CONDITION_RUNNING']));
    expect(cluster.replicas(DEPLOYMENT)).toBe(1);
  });

  it('is starting while Kubernetes replaces its pod, and waits for that', async () => {
    const modelId = await publish();
    const runner = await harness.start({ kubernetes: kubernetes() });
    const watcher = runner.watch('gw_1');
    await runner.wake(modelId);
    cluster.endpoints('qwen', 1, {});
    await eventually(() => watcher.condition(modelId) === 'CONDITION_STARTING');
    cluster.onScale(DEPLOYMENT, 1);
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    expect(cluster.replicas(DEPLOYMENT)).toBe(1);
  });
});

describe('a workload that is switched on and has no pod that answers', () => {
  const counts = () =>
    cluster.asked.flatMap(({ verb, body }) => (verb === 'update' ? [body.spec.replicas] : []));

  it('is left on when a runner takes it over: it was switched on before it was published', async () => {
    cluster.workload(DEPLOYMENT, 1);
    const modelId = await publish();
    const watcher = (await harness.start({ kubernetes: kubernetes() })).watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_STARTING');
    cluster.onScale(DEPLOYMENT, 1);
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    expect(counts()).toEqual([]);
  });

  it('is left on when a runner takes it over: it is always on and has failed', async () => {
    cluster.workload(DEPLOYMENT, 1);
    const failed = { condition: 'failed', conditionReason: 'Its server does not answer.' } as const;
    const modelId = await publish({ mode: 'always_on', ...failed });
    const watcher = (await harness.start({ kubernetes: kubernetes() })).watch('gw_1');
    await eventually(() => watcher.condition(modelId) !== undefined);
    cluster.onScale(DEPLOYMENT, 1);
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    expect(counts()).toEqual([]);
  });

  it('is left on when a runner takes it over and lacks a right for a while: it is always on', async () => {
    cluster.workload(DEPLOYMENT, 1);
    cluster.onScale(DEPLOYMENT, 1);
    const modelId = await publish({ mode: 'always_on', condition: 'running' });
    const missing = { match: 'get deployments/scale', status: 403, message: 'may not' };
    // The right is missing for longer than `forbiddenMs`.
    cluster.failures.push(...Array(10).fill(missing));
    const watcher = (await harness.start({ kubernetes: kubernetes() })).watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    await eventually(() => cluster.failures.length === 0);
    expect(counts()).toEqual([]);
  });
});

describe('a workload in a full pool', () => {
  it('is not scaled up when its settings change while it waits for room', async () => {
    await harness.db.runnerPool.create({ data: { name: 'local', capacity: 1 } });
    const busy = await harness.publishProcess({}, { cost: 1 });
    const modelId = await publish({ cost: 1 });
    const runner = await harness.start({ kubernetes: kubernetes(), timings: { minimumStayMs: 0 } });
    const gateway = runner.watch('gw_1');
    await runner.wake(busy.modelId);
    gateway.activity = [{ modelId: busy.modelId, inFlight: 1 }];
    gateway.report();
    await expect(runner.wake(modelId, 300)).rejects.toMatchObject({ code: 4 });
    const data = { sleepAfterS: 300, version: { increment: 1 } };
    await harness.db.model.update({ where: { id: modelId }, data });
    await runner.refresh(modelId);
    await expect(runner.wake(modelId, 300)).rejects.toMatchObject({ code: 4 });
    expect(cluster.replicas(DEPLOYMENT)).toBe(0);
    const woken = runner.wake(modelId);
    gateway.activity = [];
    gateway.report();
    expect(await woken).toMatchObject({ condition: 'CONDITION_RUNNING' });
  });
});

describe('a workload whose pods do not come', () => {
  it('says why while it is starting, to gateways and in Postgres, and no longer once it runs', async () => {
    const modelId = await publish();
    const { onScale } = cluster;
    cluster.onScale = () => {};
    const message = '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.';
    const unscheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    const status = { phase: 'Pending', conditions: [unscheduled] };
    const runner = await harness.start({ kubernetes: kubernetes() });
    const watcher = runner.watch('gw_1');
    const woken = runner.wake(modelId);
    await eventually(() => cluster.replicas(DEPLOYMENT) === 1);
    cluster.set('pods', [{ metadata: { name: 'qwen-1' }, status }]);
    const reason = `Pod qwen-1 cannot be scheduled (Unschedulable): ${message}`;
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: modelId } });
    await eventually(async () => (await row()).conditionReason === reason);
    expect(await row()).toMatchObject({ condition: 'starting' });
    await eventually(() => watcher.models.get(modelId)?.reason === reason);
    expect(watcher.condition(modelId)).toBe('CONDITION_STARTING');
    cluster.set('pods', []);
    onScale(DEPLOYMENT, 1);
    expect(await woken).toMatchObject({ condition: 'CONDITION_RUNNING', reason: '' });
    await eventually(async () => (await row()).conditionReason === null);
  });
});

describe('a workload that gives way', () => {
  it('keeps its room until its pods have ended', async () => {
    await harness.db.runnerPool.create({ data: { name: 'local', capacity: 1 } });
    const next = await harness.publishProcess({}, { cost: 1 });
    const modelId = await publish({ cost: 1 });
    const runner = await harness.start({ kubernetes: kubernetes(), timings: { minimumStayMs: 0 } });
    const gateway = runner.watch('gw_1');
    await runner.wake(modelId);
    cluster.set('pods', [ENDING_POD]);
    const woken = runner.wake(next.modelId);
    const reason = () => gateway.models.get(next.modelId)?.reason;
    const room = 'Waiting for room in its pool: it needs 1 of 1.';
    await eventually(() => reason() === `${room} A model that is ending still holds room there.`);
    await eventually(() => gateway.condition(modelId) === 'CONDITION_ASLEEP');
    await eventually(() => cluster.replicas(DEPLOYMENT) === 0);
    const looks = () => cluster.asked.filter(({ resource }) => resource === 'pods').length;
    const before = looks();
    await eventually(() => looks() > before + 1);
    expect([cluster.replicas(DEPLOYMENT), next.starts()]).toEqual([0, []]);
    cluster.set('pods', []);
    expect(await woken).toMatchObject({ condition: 'CONDITION_RUNNING' });
  });
});

describe('a workload that is started while its old pods are ending', () => {
  it('waits for them, and says so until it starts, to gateways and in Postgres', async () => {
    const modelId = await publish();
    const runner = await harness.start({ kubernetes: kubernetes() });
    const gateway = runner.watch('gw_1');
    await runner.wake(modelId);
    cluster.set('pods', [ENDING_POD]);
    await runner.stopModel(modelId);
    await runner.startModel(modelId);
    const reason = 'Waiting for its old pods to end.';
    const row = () => harness.db.model.findUniqueOrThrow({ where: { id: modelId } });
    await eventually(async () => (await row()).conditionReason === reason);
    await eventually(() => gateway.models.get(modelId)?.reason === reason);
    expect(await row()).toMatchObject({ condition: 'starting' });
    // Its new pods take long, for another reason.
    cluster.onScale = () => {};
    cluster.set('pods', []);
    await eventually(() => cluster.replicas(DEPLOYMENT) === 1);
    await eventually(async () => (await row()).conditionReason !== reason);
    expect(await row()).toMatchObject({ condition: 'starting' });
  });
});

describe('a workload that is deleted while it runs', () => {
  it('keeps its room until its pods have ended', async () => {
    await harness.db.runnerPool.create({ data: { name: 'local', capacity: 1 } });
    const next = await harness.publishProcess({}, { cost: 1 });
    const modelId = await publish({ cost: 1 });
    const runner = await harness.start({ kubernetes: kubernetes() });
    const gateway = runner.watch('gw_1');
    await runner.wake(modelId);
    cluster.set('pods', [ENDING_POD]);
    cluster.deleteWorkload(DEPLOYMENT);
    cluster.onScale(DEPLOYMENT, 0);
    await eventually(() => gateway.condition(modelId) === 'CONDITION_FAILED');
    expect(gateway.models.get(modelId)?.reason).toBe('There is no Deployment gpu/qwen.');
    const woken = runner.wake(next.modelId);
    const looks = () => cluster.asked.filter(({ resource }) => resource === 'pods').length;
    await eventually(() => gateway.models.get(next.modelId)?.reason?.includes('Waiting for room'));
    const before = looks();
    await eventually(() => looks() > before + 1);
    expect(next.starts()).toEqual([]);
    cluster.set('pods', []);
    expect(await woken).toMatchObject({ condition: 'CONDITION_RUNNING' });
  });
});

describe('a runner that leads while Kubernetes does not answer', () => {
  const counts = () =>
    cluster.asked.flatMap(({ verb, body }) => (verb === 'update' ? [body.spec.replicas] : []));
  /** Only the takeover's own time limit ends the wait. */
  const patient = { takeoverLookMs: 20, lookMs: 3_600_000 };
  const next = () => harness.start({ kubernetes: kubernetes(), timings: patient });

  it('serves its gateways, says that a model that was running is starting, and finds it again', async () => {
    const modelId = await publish();
    const first = await harness.start({ kubernetes: kubernetes() });
    await first.wake(modelId);
    await untilWritten(modelId, 'running');
    await first.runner?.close();
    const before = counts();
    const answer = cluster.fallSilent();
    const runner = await next();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_STARTING');
    const held = runner.wake(modelId);
    answer();
    expect(await held).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(counts()).toEqual(before);
  });

  it('shows models that are asleep, stopped or failed as they were', async () => {
    const last = {
      asleep: await publish(),
      stopped: await publish({ condition: 'stopped' }),
      failed: await publish({ condition: 'failed', conditionReason: 'It crashed.' }),
    };
    const answer = cluster.fallSilent();
    const watcher = (await next()).watch('gw_1');
    await eventually(() => watcher.models.size === 3);
    const shown = Object.values(last).map((modelId) => watcher.condition(modelId));
    expect(shown).toEqual(['CONDITION_ASLEEP', 'CONDITION_STOPPED', 'CONDITION_FAILED']);
    expect(watcher.models.get(last.failed)?.reason).toBe('It crashed.');
    answer();
    await eventually(() => watcher.models.get(last.failed)?.wakeable === true);
    expect(counts()).toEqual([]);
  });

  it('does not start a model that turns out to be off while another one fills the pool', async () => {
    await harness.db.runnerPool.create({ data: { name: 'local', capacity: 1 } });
    const busy = await harness.publishProcess({}, { cost: 1 });
    const first = await harness.start({ stopModelsOnExit: false });
    await first.wake(busy.modelId);
    await first.runner?.close();
    const modelId = await publish({ cost: 1, mode: 'always_on' });
    const answer = cluster.fallSilent();
    const runner = await harness.start({
      kubernetes: kubernetes(),
      timings: { ...patient, room: { patienceMs: 0, maxFirstMs: 60_000 }, minimumStayMs: 0 },
    });
    const gateway = runner.watch('gw_1');
    gateway.activity = [{ modelId: busy.modelId, inFlight: 1 }];
    await eventually(() => gateway.condition(busy.modelId) === 'CONDITION_RUNNING');
    answer();
    await eventually(() => cluster.asked.some(({ resource }) => resource === 'deployments/scale'));
    await expect(runner.wake(modelId, 300)).rejects.toMatchObject({ code: 4 });
    expect(counts()).toEqual([]);
    gateway.activity = [];
    gateway.report();
    expect(await runner.wake(modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(counts()).toEqual([1]);
  });
});

describe('a workload whose model was deleted while no runner led', () => {
  const DELETIONS = {
    'the model alone': (modelId: string) =>
      harness.db.model.update({ where: { id: modelId }, data: { deletedAt: new Date() } }),
    'its organization': () => harness.db.$queryRaw`SELECT delete_organization(${harness.orgId}, 'operator')`,
  };

  it.each(Object.keys(DELETIONS) as (keyof typeof DELETIONS)[])(
    'is scaled down by the next runner: %s',
    async (what) => {
      const modelId = await publish();
      const first = await harness.start({ kubernetes: kubernetes() });
      await first.wake(modelId);
      await first.runner?.close();
      await DELETIONS[what](modelId);
      expect(cluster.replicas(DEPLOYMENT)).toBe(1);
      await harness.start({ kubernetes: kubernetes() });
      await eventually(() => cluster.replicas(DEPLOYMENT) === 0);
      await eventually(async () => (await harness.db.leftWorkload.count()) < 1);
    },
  );

  it('stays as it is when it belongs to another model by then', async () => {
    const modelId = await publish();
    await DELETIONS['the model alone'](modelId);
    await publish({ mode: 'always_on' });
    const next = await harness.start({ kubernetes: kubernetes() });
    await eventually(async () => (await harness.db.leftWorkload.count()) < 1);
    await eventually(() => cluster.replicas(DEPLOYMENT) === 1);
    await next.runner?.close();
    const counts = cluster.asked.flatMap(({ verb, body }) => (verb === 'update' ? [body.spec.replicas] : []));
    expect(counts).toEqual([1]);
  });
});

describe('workloads that deleted models left', () => {
  const counts = () =>
    cluster.asked.flatMap(({ verb, body }) => (verb === 'update' ? [body.spec.replicas] : []));
  const leave = (modelId: string, workload: object) =>
    harness.db.leftWorkload.create({
      data: { modelId, pool: 'local', settings: { ...WORKLOAD, ...workload } },
    });

  it('are scaled down even behind hundreds that cannot be', async () => {
    const settings = { ...WORKLOAD, namespace: 'not-of-this-runner' };
    const others = Array.from({ length: 450 }, (_, i) => ({ modelId: `a${i}`, pool: 'local', settings }));
    await harness.db.leftWorkload.createMany({ data: others });
    await leave('b', {});
    cluster.workload(DEPLOYMENT, 1);
    await harness.start({ kubernetes: kubernetes() });
    await eventually(async () => (await harness.db.leftWorkload.count()) === others.length);
    expect(cluster.replicas(DEPLOYMENT)).toBe(0);
  });

  it('stay as they are for a model that is published before it is their turn', async () => {
    const before = 'gpu/deployments/before';
    cluster.workload(before, 1);
    cluster.workload(DEPLOYMENT, 1);
    // The pods of the first one take long to end.
    cluster.set('pods', [ENDING_POD]);
    await leave('a', { name: 'before' });
    await leave('b', {});
    await harness.start({ kubernetes: kubernetes() });
    await eventually(() => cluster.replicas(before) === 0);
    await publish();
    cluster.set('pods', []);
    await eventually(async () => (await harness.db.leftWorkload.count()) === 0);
    expect([cluster.replicas(DEPLOYMENT), counts()]).toEqual([1, [0]]);
  });

  it('stay on for a model that gets them while their pods are still ending', async () => {
    const modelId = await publish();
    const runner = await harness.start({ kubernetes: kubernetes() });
    await runner.wake(modelId);
    cluster.set('pods', [ENDING_POD]);
    await harness.db.model.update({ where: { id: modelId }, data: { deletedAt: new Date() } });
    await runner.refresh(modelId);
    await eventually(() => cluster.replicas(DEPLOYMENT) === 0);
    const next = await publish();
    await runner.refresh(next);
    const woken = runner.wake(next);
    cluster.set('pods', []);
    expect(await woken).toMatchObject({ condition: 'CONDITION_RUNNING' });
    await harness.elapse(300);
    expect(counts()).toEqual([1, 0, 1]);
  });
});

describe('a runner without Kubernetes', () => {
  it('says why it cannot run a workload, and fails one that is published', async () => {
    const modelId = await publish();
    const runner = await harness.start();
    const { problem } = await callUnary(runner.client, 'checkWorkload', WORKLOAD, { deadlineMs: 60_000 });
    expect(problem).toContain('RUNNER_KUBERNETES is not set');
    expect(await runner.wake(modelId)).toMatchObject({ condition: 'CONDITION_FAILED', reason: problem });
  });
});
