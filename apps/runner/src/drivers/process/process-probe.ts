import { DEFAULT_HEALTH_PATH, type ProcessSettings } from '@tidegate/contracts/driver-settings';
import type { DriverTimings } from '../driver.ts';
import { get, type NoAnswer } from '../probe/get.ts';
import { healthProbeUrl } from '../probe/health-url.ts';
import { inspect, type Problem } from '../probe/inspect.ts';
import type { UpstreamAccess } from '../upstream-access.ts';

interface ProcessProbeOptions {
  readonly host: string;
  readonly settings: ProcessSettings;
  readonly timings: DriverTimings;
}

/** Probes a model's process on its port. */
export class ProcessProbe {
  readonly #options: ProcessProbeOptions;

  constructor(options: ProcessProbeOptions) {
    this.#options = options;
  }

  baseUrl(port: number): string {
    return `http://${this.#options.host}:${port}/v1`;
  }

  /** Null: the process is up. */
  async health(port: number, signal: AbortSignal): Promise<NoAnswer | null> {
    const { settings, timings } = this.#options;
    const { href: url } = healthProbeUrl(this.baseUrl(port), settings.healthPath ?? DEFAULT_HEALTH_PATH);
    const answer = await get({ url, timeoutMs: timings.probeTimeoutMs }, signal);
    if (typeof answer === 'string') return answer;
    return answer.status >= 200 && answer.status < 300 ? null : `HTTP ${answer.status}`;
  }

  /** Finds out whether calls with this key and name can work. */
  calls(port: number, access: UpstreamAccess, signal: AbortSignal): Promise<Problem | null> {
    const { settings, timings } = this.#options;
    const hasHealthPath = settings.healthPath !== undefined;
    const server = { baseUrl: this.baseUrl(port), ...access, own: true, hasHealthPath };
    return inspect({ ...server, timeoutMs: timings.probeTimeoutMs }, signal);
  }
}
