import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, isPidAlive, testPostgres } from '@tidegate/testing';
import type { TestRunner } from '../testing/client.ts';
import { Harness, type PublishedProcess } from '../testing/harness.ts';
import { FAST } from '../testing/timings.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

const persisted = async (modelId: string) => {
  const { condition, conditionReason } = await harness.db.model.findUniqueOrThrow({ where: { id: modelId } });
  return { condition, reason: conditionReason };
};

describe("a model's output", () => {
  it.each([false, true])('is kept only if configured so (%s)', async (keepModelLogs) => {
    const model = await harness.publishProcess({ settings: { command: 'echo words of a prompt; exit 7' } });
    const runner = await harness.start({ keepModelLogs });
    expect((await runner.wake(model.modelId)).condition).toBe('CONDITION_FAILED');
    const kept = readdirSync(harness.stateDir).map((file) =>
      readFileSync(join(harness.stateDir, file), 'utf8'),
    );
    expect(kept.join().includes('words of a prompt')).toBe(keepModelLogs);
  });
});

describe('a wake-on-request model', () => {
  it('starts once for 500 waiting requests through 5 gateways, and all are answered when it runs', async () => {
    const model = await harness.publishProcess({ delayMs: 300 });
    const gateways = await Promise.all([harness.start()]);
    const port = await gateways[0]?.runner?.leading;
    const clients = Array.from({ length: 5 }, () => harness.connect(port ?? 0));
    // A busy machine may take longer to connect than a client is willing to wait.
    for (const client of clients) await eventually(() => client.room().then(() => true));
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, i) => clients[i % 5]?.wake(model.modelId)),
    );
    expect(new Set(answers.map((answer) => answer?.condition))).toEqual(new Set(['CONDITION_RUNNING']));
    expect(model.starts()).toHaveLength(1);
    await eventually(async () => (await persisted(model.modelId)).condition === 'running');
  });

  it('returns the revision from which the catalog has its replica', async () => {
    const model = await harness.publishProcess();
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    const { revision } = await runner.wake(model.modelId);
    await eventually(() => watcher.revision >= revision);
    const [replica] = watcher.models.get(model.modelId)?.replicas ?? [];
    expect(replica?.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect((await fetch(`${replica?.baseUrl}/models`)).status).toBe(200);
  });

  it('is reached at the configured host, as from another machine', async () => {
    const model = await harness.publishProcess();
    const runner = await harness.start({ modelHost: 'localhost' });
    const watcher = runner.watch('gw_1');
    const { revision } = await runner.wake(model.modelId);
    await eventually(() => watcher.revision >= revision);
    const [replica] = watcher.models.get(model.modelId)?.replicas ?? [];
    expect(replica?.baseUrl).toMatch(/^http:\/\/localhost:\d+\/v1$/);
  });

  it('continues to start when the waiting caller gives up', async () => {
    const model = await harness.publishProcess({ delayMs: 600 });
    const runner = await harness.start();
    await expect(runner.wake(model.modelId, 100)).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    expect((await runner.wake(model.modelId)).condition).toBe('CONDITION_RUNNING');
    expect(model.starts()).toHaveLength(1);
  });

  const EXITED = {
    condition: 'CONDITION_FAILED',
    reason: "The model's process exited with code 7 while starting.",
  };

  it('that cannot start answers all who wait with the reason, and is not woken during its backoff', async () => {
    const model = await harness.publishProcess({ how: 'fail' });
    const runner = await harness.start({ timings: { backoffFactor: 1_000 } });
    const waiting = await Promise.all([1, 2, 3].map(() => runner.wake(model.modelId)));
    for (const answer of waiting) expect(answer).toMatchObject(EXITED);
    expect(await runner.wake(model.modelId)).toMatchObject(EXITED);
    expect(model.starts()).toHaveLength(1);
    await eventually(async () => (await persisted(model.modelId)).condition === 'failed');
    expect(await persisted(model.modelId)).toEqual({ condition: 'failed', reason: EXITED.reason });
  });

  it('that failed can be woken after its backoff', async () => {
    const model = await harness.publishProcess({ how: 'fail' });
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    expect(await runner.wake(model.modelId)).toMatchObject(EXITED);
    await eventually(() => watcher.models.get(model.modelId)?.wakeable);
    expect(await runner.wake(model.modelId)).toMatchObject(EXITED);
    expect(model.starts()).toHaveLength(2);
  });

  it('whose process is killed starts again for the next request, without a backoff', async () => {
    const model = await harness.publishProcess();
    const runner = await harness.start({ timings: { backoffFactor: 1_000 } });
    const watcher = runner.watch('gw_1');
    await runner.wake(model.modelId);
    process.kill(model.starts()[0]?.pid ?? 0, 'SIGKILL');
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_ASLEEP');
    expect(watcher.models.get(model.modelId)).toMatchObject({ reason: '', replicas: [], wakeable: true });
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    expect(model.starts()).toHaveLength(2);
    expect(conditionsOf(watcher)).not.toContain('CONDITION_FAILED');
  });

  it('that is not ready in time fails, and no process is left', async () => {
    const model = await harness.publishProcess({ delayMs: 3_600_000, settings: { startTimeoutS: 600 } });
    let aheadMs = 0;
    const runner = await harness.start({
      monotonicMs: () => performance.now() + aheadMs,
      // It keeps its output open.
      timings: { drivers: { ...FAST.drivers, outputEndMs: 20 } },
    });
    const woken = runner.wake(model.modelId);
    const { pid } = await eventually(() => model.starts()[0]);
    aheadMs = 600_000;
    expect(await woken).toMatchObject({
      condition: 'CONDITION_FAILED',
      reason: 'The model was not ready within 600 s (connection refused).',
    });
    await eventually(() => !isPidAlive(pid));
  });

  it('that takes long to start does not fail if the clock is set forward meanwhile', async () => {
    const model = await harness.publishProcess({ delayMs: 500 });
    let setAheadMs = 0;
    const runner = await harness.start({ nowMs: () => Date.now() + setAheadMs });
    const woken = runner.wake(model.modelId);
    await eventually(() => model.starts().length === 1);
    setAheadMs = 86_400_000;
    expect(await woken).toMatchObject({ condition: 'CONDITION_RUNNING' });
  });
});

/** The conditions in the order in which a gateway heard of them, for its only model. */
const conditionsOf = (watcher: ReturnType<TestRunner['watch']>): string[] =>
  watcher.updates
    .flatMap(({ models }) => models.map(({ condition }) => condition))
    .filter((condition, i, all) => condition !== all[i - 1]);
const STARTED = ['CONDITION_STARTING', 'CONDITION_RUNNING'];
/** @param life how often the gateway has heard that it began to run */
const untilItRuns = (watcher: ReturnType<TestRunner['watch']>, life: number) =>
  eventually(() => conditionsOf(watcher).filter((one) => one === 'CONDITION_RUNNING').length === life);
async function killWhileItRuns(
  watcher: ReturnType<TestRunner['watch']>,
  model: PublishedProcess,
  life: number,
): Promise<void> {
  await untilItRuns(watcher, life);
  const { pid } = await eventually(() => model.starts()[life - 1]);
  process.kill(pid, 'SIGKILL');
}

describe('an always-on model', () => {
  it('starts with the runner, and when it is published', async () => {
    const before = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.condition(before.modelId) === 'CONDITION_RUNNING');
    const after = await harness.publishProcess({}, { mode: 'always_on' });
    await runner.refresh(after.modelId);
    await eventually(() => watcher.condition(after.modelId) === 'CONDITION_RUNNING');
  });

  it('stays stopped when a runner starts, until an owner starts it', async () => {
    const go = join(harness.dir, 'go');
    const model = await harness.publishProcess({ after: go }, { mode: 'always_on', condition: 'stopped' });
    const runner = await harness.start();
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_STOPPED' });
    expect(model.starts()).toHaveLength(0);
    expect(await runner.startModel(model.modelId)).toMatchObject({ condition: 'CONDITION_STARTING' });
    expect((await persisted(model.modelId)).condition).not.toBe('stopped');
    writeFileSync(go, '');
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
  });

  it('killed once is restarted immediately, without having failed', async () => {
    const runner = await harness.start({ timings: { backoffFactor: 1_000 } });
    const watcher = runner.watch('gw_1');
    // From now on the gateway hears of every condition.
    await eventually(() => watcher.updates.length > 0);
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    await runner.refresh(model.modelId);
    await killWhileItRuns(watcher, model, 1);
    await untilItRuns(watcher, 2);
    expect(conditionsOf(watcher)).toEqual([...STARTED, ...STARTED]);
    expect(model.starts()).toHaveLength(2);
  });

  it('killed again soon after fails with the reason', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await harness.start({ timings: { backoffFactor: 1_000 } });
    const watcher = runner.watch('gw_1');
    for (const life of [1, 2]) await killWhileItRuns(watcher, model, life);
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_FAILED');
    expect(watcher.models.get(model.modelId)).toMatchObject({
      reason: "The model's process was ended by SIGKILL.",
      replicas: [],
      wakeable: false,
    });
  });

  it('killed again soon after restarts by itself after a while', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    for (const life of [1, 2]) await killWhileItRuns(watcher, model, life);
    await untilItRuns(watcher, 3);
    expect(model.starts()).toHaveLength(3);
  });

  it('that stops answering its probes is restarted', async () => {
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
    const [replica] = watcher.models.get(model.modelId)?.replicas ?? [];
    await fetch(new URL('/sick', replica?.baseUrl));
    await eventually(() => model.starts().length === 2);
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
    expect(isPidAlive(model.starts()[0]?.pid ?? 0)).toBe(false);
  });
});

describe('a stop', () => {
  it('in the middle of a start ends it, answers waiting callers, and leaves no process', async () => {
    const model = await harness.publishProcess({ delayMs: 60_000 });
    const runner = await harness.start();
    const waiting = runner.wake(model.modelId);
    const { pid } = await eventually(() => model.starts()[0]);
    expect(await runner.stopModel(model.modelId)).toMatchObject({ condition: 'CONDITION_STOPPED' });
    expect(await waiting).toMatchObject({ condition: 'CONDITION_STOPPED' });
    await eventually(async () => (await persisted(model.modelId)).condition === 'stopped');
    expect(await persisted(model.modelId)).toEqual({ condition: 'stopped', reason: null });
    await eventually(() => !isPidAlive(pid));
  });

  it('ends the whole process group, including children that outlive their parent and processes that ignore SIGTERM', async () => {
    const model = await harness.publishProcess({ how: 'parent stubborn' });
    const runner = await harness.start();
    await runner.wake(model.modelId);
    const pids = model.starts().map(({ pid }) => pid);
    expect(pids).toHaveLength(2);
    await runner.stopModel(model.modelId);
    await eventually(() => pids.every((pid) => !isPidAlive(pid)));
  });

  it('can be undone by a start, which waits until the old process has ended, and says so', async () => {
    const model = await harness.publishProcess({ how: 'stubborn' });
    // Only this test ends the old process.
    const timings = { drivers: { ...FAST.drivers, stopGraceMs: 3_600_000 } };
    const runner = await harness.start({ timings, stopModelsOnExit: false });
    await runner.wake(model.modelId);
    await runner.stopModel(model.modelId);
    expect(await runner.startModel(model.modelId)).toMatchObject({ condition: 'CONDITION_STARTING' });
    const reason = 'Waiting for its old process to end.';
    await eventually(async () => (await persisted(model.modelId)).reason === reason);
    const pids = () => model.starts().map(({ pid }) => pid);
    expect(pids().map(isPidAlive)).toEqual([true]);
    process.kill(pids()[0] ?? 0, 'SIGKILL');
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING', reason: '' });
    expect(pids().map(isPidAlive)).toEqual([false, true]);
  });
});

describe('a model', () => {
  it('leaves no children behind when it is killed', async () => {
    const model = await harness.publishProcess({ how: 'parent' });
    const runner = await harness.start();
    await runner.wake(model.modelId);
    const [leader, child] = model.starts();
    process.kill(leader?.pid ?? 0, 'SIGKILL');
    await eventually(() => !isPidAlive(child?.pid ?? 0));
  });

  it('that is deleted leaves every catalog before the call is answered, and leaves no process', async () => {
    const model = await harness.publishProcess();
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await runner.wake(model.modelId);
    await harness.db.model.update({ where: { id: model.modelId }, data: { deletedAt: new Date() } });
    expect(await runner.refresh(model.modelId)).toMatchObject({ condition: 'CONDITION_UNSPECIFIED' });
    expect(watcher.models.has(model.modelId)).toBe(false);
    await expect(runner.wake(model.modelId)).rejects.toMatchObject({ code: status.NOT_FOUND });
    await eventually(() => !isPidAlive(model.starts()[0]?.pid ?? 0));
  });

  it('whose refresh was missed is found at the next full read', async () => {
    const runner = await harness.start({ timings: { rereadMs: 50 } });
    const watcher = runner.watch('gw_1');
    const model = await harness.publishProcess({}, { mode: 'always_on' });
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
  });

  it('with invalid settings or an unknown driver fails, and says what is wrong', async () => {
    const runner = await harness.start();
    const unparsable = await harness.publish({ settings: { command: 3 } });
    const driverless = await harness.publish({ driver: 'mainframe' });
    const sealed = await harness.publish({ settings: { command: 'true' }, upstreamKey: Buffer.alloc(60) });
    for (const modelId of [unparsable, driverless, sealed]) await runner.refresh(modelId);
    const reasons = await Promise.all([unparsable, driverless, sealed].map((id) => runner.wake(id)));
    expect(reasons.map(({ reason }) => reason)).toEqual([
      'The settings of its process driver are not valid: command.',
      'This runner has no such driver.',
      'Its upstream key cannot be unsealed: it was sealed under another secret key.',
    ]);
  });
});
