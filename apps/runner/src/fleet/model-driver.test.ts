import { expect, it } from '@jest/globals';
import type { ModelSpec } from '../catalog/spec.ts';
import type { Driver } from '../drivers/driver.ts';
import { ModelDriver } from './model-driver.ts';

const SPEC: ModelSpec = {
  version: 1,
  modelId: 'mdl_1',
  orgId: 'org_1',
  name: 'one',
  kind: 'text',
  mode: 'wake_on_request',
  contextTokens: 1,
  publishedAtMs: 0,
  sleepAfterMs: 1,
  upstreamModel: 'one',
  upstreamModelAssumed: true,
  upstreamKey: '',
  cost: 0,
  pinned: false,
  driver: { driver: 'unusable', reason: '' },
};

it('a model that was changed while it started is ended after what the previous driver began', async () => {
  const did: string[] = [];
  let carryOut = () => {};
  const begun = new Promise<void>((resolve) => {
    carryOut = resolve;
  }).then(() => void did.push('switched on'));
  const driverOf = ({ version }: ModelSpec): Driver => ({
    leftBehind: async () => 'nothing',
    launch: () => did.push(`launch ${version}`),
    halt: async () => void did.push(`halt ${version}`),
    release: () => (version === 1 ? begun : Promise.resolve()),
    forget: async () => {},
  });
  const driver = new ModelDriver(SPEC, driverOf, () => {});
  driver.find();
  driver.change({ ...SPEC, version: 2 });
  const halted = driver.halt();
  setImmediate(carryOut);
  await halted;
  expect(did).toEqual(['launch 1', 'launch 2', 'switched on', 'halt 2']);
});
