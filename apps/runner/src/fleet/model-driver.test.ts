import { expect, it } from '@jest/globals';
import type { ModelSpec } from '../catalog/spec.ts';
import type { Driver } from '../drivers/driver.ts';
import { A_MODEL } from '../testing/model-spec.ts';
import { ModelDriver } from './model-driver.ts';

it('a model that is changed while it starts is ended only after the previous driver has started it', async () => {
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
  const driver = new ModelDriver(A_MODEL, driverOf, () => {});
  driver.find();
  driver.change({ ...A_MODEL, version: 2 });
  const halted = driver.halt();
  setImmediate(carryOut);
  await halted;
  expect(did).toEqual(['launch 1', 'launch 2', 'switched on', 'halt 2']);
});
