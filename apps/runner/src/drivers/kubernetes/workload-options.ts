import type { KubernetesSettings } from '@tidegate/contracts/driver-settings';
import type { Logger } from '@tidegate/runtime';
import type { DriverReport, DriverTimings } from '../driver.ts';
import type { UpstreamAccess } from '../upstream-access.ts';
import type { KubernetesApi } from './api.ts';

export interface WorkloadOptions {
  readonly api: KubernetesApi;
  readonly settings: KubernetesSettings;
  readonly access: UpstreamAccess;
  /** An always-on model is not switched off when it cannot start. */
  readonly alwaysOn: boolean;
  readonly timings: DriverTimings;
  /** Monotonic clock. */
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly report: (report: DriverReport) => void;
  readonly onProbeFailure: () => void;
  readonly logger: Logger;
}
