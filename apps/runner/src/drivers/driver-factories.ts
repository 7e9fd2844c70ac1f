import type {
  ExternalSettings,
  KubernetesSettings,
  ProcessSettings,
} from '@tidegate/contracts/driver-settings';
import type { Logger } from '@tidegate/runtime';
import type { Clocks } from '../clocks.ts';
import type { ModelUser } from '../isolation/model-user.ts';
import type { RunnerMetrics } from '../metrics.ts';
import type { Driver, DriverReport, DriverTimings } from './driver.ts';
import { ExternalDriver } from './external-driver.ts';
import type { Kubernetes } from './kubernetes/check.ts';
import { KubernetesDriver } from './kubernetes/kubernetes-driver.ts';
import { SharedAnswers } from './probe/shared-answers.ts';
import { Ports } from './process/ports.ts';
import { ProcessDriver } from './process/process-driver.ts';
import type { UpstreamAccess } from './upstream-access.ts';

export interface DriversOptions extends Clocks {
  /** Created if missing. The runners of one machine share it, whatever their pools. */
  readonly stateDir: string;
  readonly pool: string;
  /** The host name or address of model processes. */
  readonly modelHost: string;
  /** Keep the output of model processes. */
  readonly keepOutput: boolean;
  /** The user that model processes run as, and their environment. */
  readonly modelUser: ModelUser;
  /** Null: this runner runs no models in Kubernetes. */
  readonly kubernetes: Kubernetes | null;
  readonly timings: DriverTimings;
  readonly metrics: RunnerMetrics;
  /** Whether this runner leads its pool at this moment. */
  readonly leads: () => boolean;
  readonly random: () => number;
  readonly logger: Logger;
}

export type OnReport = (report: DriverReport) => void;

/** How long models share what a server answered, as a fraction of the time between two probes. */
const FRESH = 0.2;

/** Creates drivers of each kind, with what all models of this runner share. */
export class DriverFactories {
  readonly #options: DriversOptions;
  readonly #stateDir: string;
  readonly #ports: Ports;
  readonly #answers: SharedAnswers;

  /** @param stateDir of this runner's pool */
  constructor(options: DriversOptions, stateDir: string) {
    this.#options = options;
    this.#stateDir = stateDir;
    this.#ports = new Ports(options.stateDir, options.random);
    this.#answers = new SharedAnswers(options.timings.probeMs * FRESH);
  }

  process(
    modelId: string,
    settings: ProcessSettings,
    access: UpstreamAccess,
    alwaysOn: boolean,
    report: OnReport,
  ): Driver {
    const { modelHost: host, keepOutput, modelUser, leads, nowMs, monotonicMs } = this.#options;
    const { user, env } = modelUser;
    return new ProcessDriver({
      ...this.#common('process'),
      modelId,
      settings,
      access,
      stateDir: this.#stateDir,
      ports: this.#ports,
      host,
      keepOutput,
      env,
      user,
      leads,
      alwaysOn,
      nowMs,
      monotonicMs,
      report,
    });
  }

  external(logger: Logger, settings: ExternalSettings, access: UpstreamAccess, report: OnReport): Driver {
    return new ExternalDriver({
      ...this.#common('external'),
      settings,
      access,
      get: (request, signal) => this.#answers.get(request, signal),
      report,
      logger,
    });
  }

  kubernetes(
    { api, logger }: Kubernetes & { readonly logger: Logger },
    settings: KubernetesSettings,
    access: UpstreamAccess,
    alwaysOn: boolean,
    report: OnReport,
  ): Driver {
    return new KubernetesDriver({
      ...this.#common('kubernetes'),
      api,
      settings,
      access,
      nowMs: this.#options.monotonicMs,
      report,
      alwaysOn,
      logger,
    });
  }

  #common(driver: string) {
    const { timings, random, metrics } = this.#options;
    return { timings, random, onProbeFailure: () => metrics.probeFailures.inc({ driver }) };
  }
}
