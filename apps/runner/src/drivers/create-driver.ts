import { chmodSync, mkdirSync, statSync } from 'node:fs';
import type {
  ExternalSettings,
  KubernetesSettings,
  ProcessSettings,
} from '@tidegate/contracts/driver-settings';
import type { Logger } from '@tidegate/runtime';
import type { ModelSpec } from '../catalog/spec.ts';
import { type ModelUser, makeHome } from '../isolation/model-user.ts';
import { isOpenToOwnUser } from '../isolation/own-memory.ts';
import type { RunnerMetrics } from '../metrics.ts';
import type { Driver, DriverReport, DriverTimings } from './driver.ts';
import { ExternalDriver } from './external-driver.ts';
import { type Kubernetes, ruledOut } from './kubernetes/check.ts';
import { KubernetesDriver } from './kubernetes/kubernetes-driver.ts';
import { SharedAnswers } from './probe/shared-answers.ts';
import { Ports } from './process/ports.ts';
import { ProcessDriver } from './process/process-driver.ts';
import { knownModels, stateDirOf } from './process/state-file.ts';
import { parseSettings } from './settings.ts';
import { UnusableDriver } from './unusable-driver.ts';
import type { UpstreamAccess } from './upstream-access.ts';

export interface DriversOptions {
  /** Created if missing. The runners of one machine share it, whatever their pools. */
  readonly stateDir: string;
  readonly pool: string;
  /** The host name or address of models' processes. */
  readonly modelHost: string;
  /** Keep the output of models' processes. */
  readonly keepOutput: boolean;
  /** Whom models' processes run as, and their environment. */
  readonly modelUser: ModelUser;
  /** Null: this runner runs no models in Kubernetes. */
  readonly kubernetes: Kubernetes | null;
  readonly timings: DriverTimings;
  readonly metrics: RunnerMetrics;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly logger: Logger;
}

type Report = (report: DriverReport) => void;

export interface Drivers {
  create(spec: ModelSpec, report: Report): Driver;
  /**
   * Ends processes of models other than these. Their models were deleted while no runner was
   * active, or run elsewhere now.
   */
  clearStrays(processModels: ReadonlySet<string>): Promise<void>;
  /** Scales down what a deleted model left. Rejects when this runner cannot, or pods are left. */
  endWorkload(settings: unknown): Promise<void>;
}

/** How long models share what a server answered, as a part of the time between two probes. */
const FRESH = 0.2;

/** Of a model that is only ended, and never called. */
const NO_ACCESS: UpstreamAccess = { name: '', nameAssumed: true, key: '' };

export function createDrivers(options: DriversOptions): Drivers {
  const { modelUser, kubernetes, logger } = options;
  const stateDir = stateDirOf(options.stateDir, options.pool);
  makeStateDir(options.stateDir);
  makeStateDir(stateDir);
  const makers = createMakers(options, stateDir);
  let prepared = false;
  return {
    create: (spec, report) => {
      const { modelId, orgId, name, mode, driver, upstreamModel, upstreamModelAssumed, upstreamKey } = spec;
      const log = logger.child({ modelId, orgId, model: name });
      const access = { name: upstreamModel, nameAssumed: upstreamModelAssumed, key: upstreamKey };
      if (driver.driver === 'process') {
        if (!prepared) prepare(modelUser, logger);
        prepared = true;
        return makers.process(modelId, driver.settings, access, report);
      }
      if (driver.driver === 'external') return makers.external(log, driver.settings, access, report);
      if (driver.driver === 'unusable') return new UnusableDriver(driver.reason, report);
      const problem = ruledOut(kubernetes, driver.settings);
      if (!kubernetes || problem) return new UnusableDriver(problem, report);
      const own = { ...kubernetes, logger: log };
      return makers.kubernetes(own, driver.settings, access, mode === 'always_on', report);
    },
    endWorkload: async (stored) => {
      const left = parseSettings('kubernetes', stored);
      if (left.driver !== 'kubernetes') throw new Error('its settings cannot be read');
      const problem = ruledOut(kubernetes, left.settings);
      if (!kubernetes || problem) throw new Error(problem);
      const own = { ...kubernetes, logger };
      await makers.kubernetes(own, left.settings, NO_ACCESS, false, () => {}).halt();
    },
    clearStrays: async (processModels) => {
      const strays = knownModels(stateDir).filter((modelId) => !processModels.has(modelId));
      await Promise.all(
        strays.map(async (modelId) => {
          const settings = { command: 'true', healthPath: '/', startTimeoutS: 1 };
          const driver = makers.process(modelId, settings, NO_ACCESS, () => {});
          await driver.halt();
          await driver.forget();
        }),
      );
    },
  };
}

/** How each kind of driver is made, with what all models of this runner share. */
function createMakers(options: DriversOptions, stateDir: string) {
  const { modelHost: host, keepOutput, modelUser, timings, metrics, nowMs, random } = options;
  const { user, env } = modelUser;
  const ports = new Ports(options.stateDir, random);
  const answers = new SharedAnswers(timings.probeMs * FRESH);
  const common = (driver: string) => ({
    timings,
    random,
    onProbeFailure: () => metrics.probeFailures.inc({ driver }),
  });
  return {
    process: (modelId: string, settings: ProcessSettings, access: UpstreamAccess, report: Report) =>
      new ProcessDriver({
        ...common('process'),
        modelId,
        settings,
        access,
        stateDir,
        ports,
        host,
        keepOutput,
        env,
        user,
        nowMs,
        report,
      }),
    external: (log: Logger, settings: ExternalSettings, access: UpstreamAccess, report: Report) =>
      new ExternalDriver({
        ...common('external'),
        settings,
        access,
        get: (request, signal) => answers.get(request, signal),
        report,
        logger: log,
      }),
    kubernetes: (
      { api, logger: own }: Kubernetes & { readonly logger: Logger },
      settings: KubernetesSettings,
      access: UpstreamAccess,
      alwaysOn: boolean,
      report: Report,
    ) =>
      new KubernetesDriver({
        ...common('kubernetes'),
        api,
        settings,
        access,
        nowMs,
        report,
        alwaysOn,
        logger: own,
      }),
  };
}

/** Creates the folder of the records if it is missing. Only the runner's user can look into it. */
function makeStateDir(stateDir: string): void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  // Someone else's folder, such as a volume's, is theirs to close.
  if (statSync(stateDir).uid === process.getuid?.()) chmodSync(stateDir, 0o700);
}

const sharedUser = (open: boolean): string =>
  "models' processes run as the runner's own user. They can read its files and end it" +
  (open ? ', and can read its environment and its memory, secrets included' : '') +
  ': a runner that runs as root gives them another user';

/** What the first model with a process needs. */
function prepare(modelUser: ModelUser, logger: Logger): void {
  if (modelUser.user === null) logger.warn(sharedUser(isOpenToOwnUser(process.getuid?.())));
  try {
    makeHome(modelUser);
  } catch (err) {
    logger.warn({ err }, "the home of models' processes cannot be created");
  }
}
