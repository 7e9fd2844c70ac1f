import { jittered, pause } from '../../pause.ts';
import type { DriverTimings } from '../driver.ts';
import type { KubernetesApi, Workload } from './api.ts';
import { countOf } from './scale.ts';

export interface WantedCountOptions {
  readonly api: KubernetesApi;
  readonly settings: Workload;
  readonly timings: DriverTimings;
  readonly random: () => number;
}

/**
 * How many replicas a running workload should have. An autoscaler or a person may change that, and
 * a pod that cannot be scheduled shows in no endpoint.
 */
export class WantedCount {
  #value: number;
  readonly #options: WantedCountOptions;
  readonly #signal: AbortSignal;
  readonly #onChange: () => void;

  constructor(options: WantedCountOptions, value: number, signal: AbortSignal, onChange: () => void) {
    this.#options = options;
    this.#value = value;
    this.#signal = signal;
    this.#onChange = onChange;
  }

  /** As last read. It stays the same while it cannot be read. */
  get value(): number {
    return this.#value;
  }

  set value(count: number) {
    if (count === this.#value) return;
    this.#value = count;
    this.#onChange();
  }

  /** Reads it now and then until the signal is aborted. Never rejects. */
  async follow(isRunning: () => boolean): Promise<void> {
    const { timings, random } = this.#options;
    while (!this.#signal.aborted) {
      await pause(jittered(timings.countMs, random), this.#signal);
      if (isRunning()) await this.read();
    }
  }

  /** Never rejects. */
  async read(): Promise<void> {
    const { api, settings } = this.#options;
    const scale = await api.scale(settings, this.#signal).catch(() => null);
    if (scale && !this.#signal.aborted) this.value = countOf(scale);
  }
}
