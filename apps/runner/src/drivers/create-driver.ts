import { mkdirSync } from 'node:fs';
import type { ProcessSettings } from '@tidegate/contracts/driver-settings';
import type { Logger } from '@tidegate/runtime';
import type { ModelSpec } from '../catalog/spec.ts';
import type { RunnerMetrics } from '../metrics.ts';
import type { Driver, DriverReport, DriverTimings } from './driver.ts';
import { ExternalDriver } from './external-driver.ts';
import { Ports } from './process/ports.ts';
import { ProcessDriver } from './process/process-driver.ts';
import { knownModels } from './process/state-file.ts';
import { UnusableDriver } from './unusable-driver.ts';
import type { UpstreamAccess } from './upstream-access.ts';

export interface DriversOptions {
  /** Created if missing. */
  readonly stateDir: string;
  /** The host name or address of models' processes. */
  readonly modelHost: string;
  /** Keep the output of models' processes. */
  readonly keepOutput: boolean;
  /** The environment of models' processes. */
  readonly env: Readonly<Record<string, string>>;
  readonly timings: DriverTimings;
  readonly metrics: RunnerMetrics;
  readonly now: () => number;
  readonly random: () => number;
  readonly logger: Logger;
}

export interface Drivers {
  create(spec: ModelSpec, report: (report: DriverReport) => void): Driver;
  /**
   * Ends processes of models other than these. Their models were deleted while no runner was
   * active, or run elsewhere now.
   */
  clearStrays(processModels: ReadonlySet<string>): Promise<void>;
}

export function createDrivers(options: DriversOptions): Drivers {
  const { stateDir, modelHost: host, keepOutput, env, timings, metrics, now, random, logger } = options;
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const ports = new Ports(stateDir, random);
  const common = (driver: string) => ({
    ...{ timings, random },
    onProbeFailure: () => metrics.probeFailures.inc({ driver }),
  });
  const processDriver = (
    modelId: string,
    settings: ProcessSettings,
    access: UpstreamAccess,
    report: (report: DriverReport) => void,
  ) =>
    new ProcessDriver({
      ...common('process'),
      ...{ modelId, settings, access, stateDir, ports, host, keepOutput, env, now, report },
    });
  return {
    create: ({ modelId, driver, upstreamModel, upstreamModelAssumed, upstreamKey }, report) => {
      const access = { name: upstreamModel, nameAssumed: upstreamModelAssumed, key: upstreamKey };
      if (driver.driver === 'process') return processDriver(modelId, driver.settings, access, report);
      if (driver.driver === 'external')
        return new ExternalDriver({
          ...common('external'),
          ...{ settings: driver.settings, access, report },
          logger: logger.child({ modelId }),
        });
      return new UnusableDriver(driver.reason, report);
    },
    clearStrays: async (processModels) => {
      const strays = knownModels(stateDir).filter((modelId) => !processModels.has(modelId));
      await Promise.all(
        strays.map(async (modelId) => {
          const settings = { command: 'true', healthPath: '/', startTimeoutS: 1 };
          const access = { name: '', nameAssumed: true, key: '' };
          const driver = processDriver(modelId, settings, access, () => {});
          await driver.halt();
          await driver.forget();
        }),
      );
    },
  };
}
