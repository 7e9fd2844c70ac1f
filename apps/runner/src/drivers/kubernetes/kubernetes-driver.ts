import { pause } from '../../pause.ts';
import { apiPauseMs } from '../backoff.ts';
import type { Driver, IsTaken, LeftBehind, ReplicaAddress } from '../driver.ts';
import { ApiError } from './api.ts';
import { isAbsent } from './errors.ts';
import { Launch, type WorkloadOptions } from './launch.ts';
import { countOf, switchOff } from './scale.ts';
import { replicasOf } from './slices.ts';

const NOTHING = { replicas: [], count: 0 };
const HALT_ATTEMPTS = 3;

/**
 * Switches a Deployment or StatefulSet on and off by setting its replica count, and calls the ready
 * endpoints of its Service. Kubernetes keeps it running: whatever the runner does, pods outlive it.
 */
export class KubernetesDriver implements Driver {
  readonly #options: WorkloadOptions;
  #launch: Launch | null = null;
  /** Replicas that were found before the launch. */
  #found: { readonly replicas: readonly ReplicaAddress[]; readonly count: number } = NOTHING;

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  async leftBehind(withinMs: number): Promise<LeftBehind> {
    const late = new AbortController();
    const silence = pause(withinMs, late.signal).then(() => 'unknown' as const);
    // Not all that a call does ends with its signal, such as a program that fetches credentials.
    const found = await Promise.race([this.#look(late.signal), silence]);
    late.abort();
    return found;
  }

  async #look(signal: AbortSignal): Promise<LeftBehind> {
    const { api, settings } = this.#options;
    try {
      const scale = await api.scale(settings, signal);
      if (countOf(scale) === 0) return 'nothing';
      const { slices } = await api.endpointSlices(settings.namespace, settings.service, signal);
      if (signal.aborted) return 'unknown';
      this.#found = { ...replicasOf(slices, settings.port), count: countOf(scale) };
      return this.#found.replicas.length > 0 ? 'process' : 'pending';
    } catch (error) {
      return isAbsent(error) ? 'nothing' : 'unknown';
    }
  }

  launch(resumed: boolean): void {
    this.release();
    const { replicas, count } = this.#found;
    this.#launch = new Launch(this.#options, count);
    this.#launch.begin(resumed ? replicas : null);
  }

  find(): void {
    this.release();
    this.#launch = new Launch(this.#options, 0);
    this.#launch.find();
  }

  async halt(isTaken: IsTaken = async () => false): Promise<void> {
    this.release();
    // A switching on under way ends first, so that nothing starts after the halt.
    await this.#launch?.switching;
    const { api, settings, timings, nowMs, random } = this.#options;
    const signal = api.lost;
    const deadlineMs = nowMs() + timings.scaleDownMs;
    for (let failures = 0; ; ) {
      try {
        const pods = await switchOff(api, settings, isTaken, signal);
        if (pods === null || pods === 0) return;
        failures = 0;
        if (nowMs() >= deadlineMs) throw new Error('it was scaled to 0 and still has pods that do not end');
      } catch (error) {
        if (isAbsent(error)) return;
        failures++;
        if (!(error instanceof ApiError) || failures >= HALT_ATTEMPTS) throw error;
      }
      await pause(apiPauseMs(failures, timings, random), signal);
    }
  }

  release(): void {
    this.#launch?.end();
  }

  async forget(): Promise<void> {}
}
