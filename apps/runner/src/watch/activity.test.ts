import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newOrgId } from '@tidegate/contracts';
import { eventually, testPostgres } from '@tidegate/testing';
import type { TestRunner } from '../testing/client.ts';
import { Harness } from '../testing/harness.ts';

const URLS = { driver: 'external', settings: { urls: ['http://127.0.0.1:9/v1'] } } as const;

let harness: Harness;
let runner: TestRunner;
let models: [string, string];
let otherOrgId: string;
let theirModel: string;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
  const { planId } = await harness.db.org.findUniqueOrThrow({ where: { id: harness.orgId } });
  otherOrgId = newOrgId();
  await harness.db.org.create({ data: { id: otherOrgId, slug: otherOrgId, name: 'Other', planId } });
  models = [await harness.publish(URLS), await harness.publish(URLS)];
  theirModel = await harness.publish({ ...URLS, orgId: otherOrgId });
  runner = await harness.start();
});
afterEach(() => harness.close());

/** A gateway with these requests in flight. */
async function gateway(instanceId: string, inFlight: Readonly<Record<string, number>>) {
  const watcher = runner.watch(instanceId);
  await eventually(() => watcher.updates.length > 0);
  const report = (now: Readonly<Record<string, number>>) => {
    watcher.activity = Object.entries(now).map(([modelId, count]) => ({ modelId, inFlight: count }));
    watcher.report();
  };
  report(inFlight);
  return { report, cancel: () => watcher.cancel() };
}

const becomes = (expected: Readonly<Record<string, number>>) =>
  eventually(async () => {
    expect(await runner.inFlight(harness.orgId)).toEqual(expected);
    return true;
  });

describe('requests in flight', () => {
  it('are the sum of the last reports of all connected gateways', async () => {
    const [a, b] = models;
    expect(await runner.inFlight(harness.orgId)).toEqual({});
    const one = await gateway('gw_1', { [a]: 2, [b]: 1 });
    const two = await gateway('gw_2', { [a]: 3, [b]: 0 });
    await becomes({ [a]: 5, [b]: 1 });
    one.report({ [a]: 1, [b]: 0 });
    await becomes({ [a]: 4 });
    two.cancel();
    await becomes({ [a]: 1 });
    one.report({});
    await becomes({});
  });

  it('are reported only for the requested organization, and only for published models', async () => {
    const [a] = models;
    await gateway('gw_1', { [a]: 1, [theirModel]: 2, mdl_unknown: 3 });
    await becomes({ [a]: 1 });
    expect(await runner.inFlight(otherOrgId)).toEqual({ [theirModel]: 2 });
    expect(await runner.inFlight('')).toEqual({});
    await harness.db.model.update({ where: { id: a }, data: { deletedAt: new Date() } });
    await runner.refresh(a);
    expect(await runner.inFlight(harness.orgId)).toEqual({});
  });

  it('of a gateway that reconnects before its old connection ended are counted once', async () => {
    const [a] = models;
    await gateway('gw_1', { [a]: 4 });
    await becomes({ [a]: 4 });
    const again = await gateway('gw_1', { [a]: 5 });
    await becomes({ [a]: 5 });
    again.report({});
    await becomes({});
  });
});
