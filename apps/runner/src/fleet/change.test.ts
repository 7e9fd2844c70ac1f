import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { seal } from '@tidegate/contracts';
import type { Prisma } from '@tidegate/db';
import { eventually, testPostgres } from '@tidegate/testing';
import { Harness } from '../testing/harness.ts';
import { FAST } from '../testing/timings.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

/** A model server that someone else runs. It records the keys that it receives. */
async function startServer(status = 200): Promise<{ readonly url: string; readonly keys: Set<string> }> {
  const keys = new Set<string>();
  const server: Server = createServer((request, response) => {
    keys.add(request.headers.authorization ?? '');
    response.writeHead(status).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  harness.onClose(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, keys };
}

const publish = (url: string): Promise<string> =>
  harness.publish({ mode: 'always_on', driver: 'external', settings: { urls: [url] } });
const change = (id: string, data: Prisma.ModelUncheckedUpdateInput) =>
  harness.db.model.update({ where: { id }, data: { ...data, version: { increment: 1 } } });

describe('a model whose settings change', () => {
  it('stays running, and is called at its new URLs once they answer', async () => {
    const [one, two] = [await startServer(), await startServer()];
    const modelId = await publish(one.url);
    const timings = { drivers: { ...FAST.drivers, remoteGraceMs: 3_600_000 } };
    const runner = await harness.start({ timings });
    const watcher = runner.watch('gw_1');
    const urls = () => watcher.models.get(modelId)?.replicas.map(({ baseUrl }) => baseUrl);
    await eventually(() => urls()?.[0] === one.url);
    const seen = watcher.updates.length;
    await change(modelId, { settings: { urls: [two.url] } });
    await runner.refresh(modelId);
    await eventually(() => urls()?.[0] === two.url);
    const after = watcher.updates.slice(seen).flatMap(({ models }) => models);
    expect(after.map(({ condition }) => condition)).not.toContain('CONDITION_STARTING');
    expect(after.every(({ replicas }) => replicas.length === 1)).toBe(true);
  });

  it('fails with the reason of its new URL, and runs again when it is changed back', async () => {
    const [right, wrong] = [await startServer(), await startServer(404)];
    const modelId = await publish(right.url);
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    await change(modelId, { settings: { urls: [wrong.url] } });
    await runner.refresh(modelId);
    await eventually(() => watcher.models.get(modelId)?.reason?.includes('No chat completions API'));
    expect(watcher.condition(modelId)).toBe('CONDITION_FAILED');
    await change(modelId, { settings: { urls: [right.url] } });
    await runner.refresh(modelId);
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
  });

  it('is probed and called with its new upstream key and name', async () => {
    const one = await startServer();
    const modelId = await publish(one.url);
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    const upstreamKey = Uint8Array.from(seal(harness.secretKey, 'sk-new'));
    await change(modelId, { upstreamKey, upstreamModel: 'other' });
    await runner.refresh(modelId);
    expect(watcher.models.get(modelId)).toMatchObject({ upstreamKey: 'sk-new', upstreamModel: 'other' });
    await eventually(() => one.keys.has('Bearer sk-new'));
  });

  it('runs again when its upstream key is sealed under a secret key that the runner has', async () => {
    const one = await startServer();
    const modelId = await publish(one.url);
    const sealedUnder = (key: Uint8Array) => ({ upstreamKey: Uint8Array.from(seal(key, 'sk')) });
    await change(modelId, sealedUnder(Buffer.alloc(32, 9)));
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.models.get(modelId)?.reason?.includes('upstream key cannot be unsealed'));
    await change(modelId, sealedUnder(harness.secretKey));
    await runner.refresh(modelId);
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
  });

  it('has its old key, name and context sent to its old URLs only, and the new ones to the new URLs', async () => {
    const [one, two] = [await startServer(), await startServer()];
    const modelId = await harness.publish({
      mode: 'always_on',
      driver: 'external',
      settings: { urls: [one.url] },
      upstreamKey: Uint8Array.from(seal(harness.secretKey, 'sk-old')),
      upstreamModel: 'old',
      contextTokens: 1,
    });
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    const upstreamKey = Uint8Array.from(seal(harness.secretKey, 'sk-new'));
    const settings = { urls: [two.url] };
    await change(modelId, { settings, upstreamKey, upstreamModel: 'new', contextTokens: 2 });
    await runner.refresh(modelId);
    await eventually(() => watcher.models.get(modelId)?.replicas[0]?.baseUrl === two.url);
    const called = watcher.updates
      .flatMap(({ models }) => models)
      .flatMap(({ replicas, ...how }) => replicas.map(({ baseUrl }) => ({ baseUrl, ...how })))
      .map((how) => [how.baseUrl, how.upstreamKey, how.upstreamModel, how.contextTokens].join(' '));
    expect([...new Set(called)]).toEqual([`${one.url} sk-old old 1`, `${two.url} sk-new new 2`]);
    expect([...one.keys, ...two.keys]).toEqual(['Bearer sk-old', 'Bearer sk-new']);
  });

  it('has a new name, key and context only with its new command, and immediately if the command stays', async () => {
    const model = await harness.publishProcess({}, { upstreamModel: 'old', contextTokens: 1 });
    const next = await harness.publishProcess();
    const { settings } = await harness.db.model.findUniqueOrThrow({ where: { id: next.modelId } });
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await runner.wake(model.modelId);
    const called = () => {
      const { upstreamModel, contextTokens } = watcher.models.get(model.modelId) ?? {};
      return `${upstreamModel} ${contextTokens}`;
    };
    const both = { settings: settings as Prisma.InputJsonObject, upstreamModel: 'new', contextTokens: 2 };
    await change(model.modelId, both);
    await runner.refresh(model.modelId);
    expect([watcher.condition(model.modelId), called()]).toEqual(['CONDITION_RUNNING', 'old 1']);
    await runner.stopModel(model.modelId);
    await eventually(() => called() === 'new 2');
    await runner.startModel(model.modelId);
    await eventually(() => watcher.condition(model.modelId) === 'CONDITION_RUNNING');
    expect([called(), next.starts().length]).toEqual(['new 2', 1]);
    await change(model.modelId, { upstreamModel: 'newer', contextTokens: 3 });
    await runner.refresh(model.modelId);
    expect([watcher.condition(model.modelId), called()]).toEqual(['CONDITION_RUNNING', 'newer 3']);
  });

  it('and whose driver was unusable starts immediately', async () => {
    const one = await startServer();
    const modelId = await harness.publish({ mode: 'always_on', driver: 'external', settings: { urls: [] } });
    const runner = await harness.start();
    const watcher = runner.watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_FAILED');
    await change(modelId, { settings: { urls: [one.url] } });
    await runner.refresh(modelId);
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
  });

  it('keeps its process, and uses the changed settings at its next start', async () => {
    const model = await harness.publishProcess({});
    const next = await harness.publishProcess({});
    const { settings } = await harness.db.model.findUniqueOrThrow({ where: { id: next.modelId } });
    const runner = await harness.start();
    await runner.wake(model.modelId);
    await change(model.modelId, { settings: settings as Prisma.InputJsonObject, sleepAfterS: 1_200 });
    await runner.refresh(model.modelId);
    expect(next.starts()).toHaveLength(0);
    expect(await runner.wake(model.modelId)).toMatchObject({ condition: 'CONDITION_RUNNING' });
    await runner.stopModel(model.modelId);
    await runner.startModel(model.modelId);
    await eventually(() => next.starts().length === 1);
    expect(model.starts()).toHaveLength(1);
  });

  it('is noticed even if the runner is not told', async () => {
    const [one, two] = [await startServer(), await startServer()];
    const modelId = await publish(one.url);
    const watcher = (await harness.start({ timings: { rereadMs: 50 } })).watch('gw_1');
    await eventually(() => watcher.condition(modelId) === 'CONDITION_RUNNING');
    await change(modelId, { settings: { urls: [two.url] } });
    await eventually(() => watcher.models.get(modelId)?.replicas[0]?.baseUrl === two.url);
  });
});
