import { chmodSync, mkdirSync, statSync } from 'node:fs';
import type { Logger } from '@tidegate/runtime';
import type { ModelSpec } from '../catalog/spec.ts';
import { type ModelUser, makeHome } from '../isolation/model-user.ts';
import { isOpenToOwnUser } from '../isolation/own-memory.ts';
import type { Driver, IsTaken } from './driver.ts';
import { DriverFactories, type DriversOptions, type OnReport } from './driver-factories.ts';
import { ruledOut } from './kubernetes/check.ts';
import { knownModels, stateDirOf } from './process/state-file.ts';
import { parseSettings } from './settings.ts';
import { UnusableDriver } from './unusable-driver.ts';
import type { UpstreamAccess } from './upstream-access.ts';

export interface Drivers {
  create(spec: ModelSpec, report: OnReport): Driver;
  /**
   * Ends processes of models other than these. Those models were deleted while no runner led, or
   * now run elsewhere. If some processes cannot be ended, rejects once all others have been.
   */
  clearStrays(processModels: ReadonlySet<string>): Promise<void>;
  /**
   * Scales down the workload that a deleted model left, unless it is taken. Rejects if this runner
   * cannot do that, or if pods are left.
   */
  endWorkload(settings: unknown, isTaken: IsTaken): Promise<void>;
}

/** For a model that is only ended, never called. */
const NO_ACCESS: UpstreamAccess = { name: '', nameAssumed: true, key: '' };

export function createDrivers(options: DriversOptions): Drivers {
  const { modelUser, kubernetes, logger } = options;
  const stateDir = stateDirOf(options.stateDir, options.pool);
  makeStateDir(options.stateDir);
  makeStateDir(stateDir);
  const factories = new DriverFactories(options, stateDir);
  let prepared = false;
  return {
    create: (spec, report) => {
      const { modelId, orgId, name, mode, access, driver } = spec;
      const log = logger.child({ modelId, orgId, model: name });
      const alwaysOn = mode === 'always_on';
      if (driver.driver === 'process') {
        if (!prepared) prepare(modelUser, logger);
        prepared = true;
        return factories.process(modelId, driver.settings, access, alwaysOn, report);
      }
      if (driver.driver === 'external') return factories.external(log, driver.settings, access, report);
      if (driver.driver === 'unusable') return new UnusableDriver(driver.reason, report);
      const problem = ruledOut(kubernetes, driver.settings);
      if (!kubernetes || problem) return new UnusableDriver(problem, report);
      const own = { ...kubernetes, logger: log };
      return factories.kubernetes(own, driver.settings, access, alwaysOn, report);
    },
    endWorkload: async (stored, isTaken) => {
      const left = parseSettings('kubernetes', stored);
      if (left.driver !== 'kubernetes') throw new Error('its settings cannot be read');
      const problem = ruledOut(kubernetes, left.settings);
      if (!kubernetes || problem) throw new Error(problem);
      const own = { ...kubernetes, logger };
      await factories.kubernetes(own, left.settings, NO_ACCESS, false, () => {}).halt(isTaken);
    },
    clearStrays: async (processModels) => {
      const strays = knownModels(stateDir).filter((modelId) => !processModels.has(modelId));
      const ends = await Promise.allSettled(
        strays.map(async (modelId) => {
          const settings = { command: 'true', startTimeoutS: 1 };
          const driver = factories.process(modelId, settings, NO_ACCESS, false, () => {});
          await driver.halt();
          await driver.forget();
        }),
      );
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}

/** Creates the folder of the records if it is missing. Only the runner's user can look into it. */
function makeStateDir(stateDir: string): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  // If someone else owns it, as with a mounted volume, its permissions are theirs to set.
  if (statSync(stateDir).uid === process.getuid?.()) chmodSync(stateDir, 0o700);
}

const sharedUser = (open: boolean): string =>
  "model processes run as the runner's own user. They can read the files of the runner and end it" +
  (open ? ', and can read its environment and memory, secrets included' : '') +
  '. A runner that runs as root gives them a user of their own';

/** Prepares for the first model that runs as a process. */
function prepare(modelUser: ModelUser, logger: Logger): void {
  if (modelUser.user === null) logger.warn(sharedUser(isOpenToOwnUser(process.getuid?.())));
  try {
    makeHome(modelUser);
  } catch (err) {
    logger.warn({ err }, 'the home directory of model processes could not be created');
  }
}
