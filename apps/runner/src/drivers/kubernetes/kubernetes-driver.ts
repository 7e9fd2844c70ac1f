import { pause } from '../../pause.ts';
import type { Driver, IsTaken, LeftBehind, ReplicaAddress } from '../driver.ts';
import { isAbsent } from './errors.ts';
import { haltWorkload, podsOf } from './halt.ts';
import { Launch } from './launch.ts';
import { countOf } from './scale.ts';
import { replicasOf } from './slices.ts';
import type { WorkloadOptions } from './workload-options.ts';

const NOTHING = { replicas: [], count: 0 };

/**
 * Switches a Deployment or StatefulSet on and off by setting its replica count, and calls the ready
 * endpoints of its Service. Kubernetes keeps the pods running, however the runner ends.
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
    // A call may start something that its signal does not end: a program that fetches credentials.
    const found = await Promise.race([this.#look(late.signal), silence]);
    late.abort();
    return found;
  }

  async #look(signal: AbortSignal): Promise<LeftBehind> {
    const { api, settings } = this.#options;
    try {
      const scale = await api.scale(settings, signal);
      if (countOf(scale) === 0) {
        const pods = await podsOf(api, settings, signal);
        return pods.length > 0 ? 'remains' : 'nothing';
      }
      const { slices } = await api.endpointSlices(settings.namespace, settings.service, signal);
      if (signal.aborted) return 'unknown';
      this.#found = { ...replicasOf(slices, settings.port), count: countOf(scale) };
      return this.#found.replicas.length > 0 ? 'process' : 'pending';
    } catch (error) {
      return isAbsent(error) ? 'nothing' : 'unknown';
    }
  }

  launch(resumed: boolean): void {
    void this.release();
    const { replicas, count } = this.#found;
    this.#launch = new Launch(this.#options, count);
    this.#launch.begin(resumed ? replicas : null);
  }

  takeOver(replicas: readonly ReplicaAddress[], total: number): void {
    this.#found = { replicas, count: total };
    this.launch(true);
  }

  find(): void {
    void this.release();
    this.#launch = new Launch(this.#options, 0);
    this.#launch.find();
  }

  async halt(isTaken: IsTaken = async () => false): Promise<void> {
    // If the workload is being switched on, that ends first, so that nothing starts after the halt.
    await this.release();
    await haltWorkload(this.#options, isTaken);
  }

  async release(): Promise<void> {
    this.#launch?.end();
    await this.#launch?.switching;
  }

  async forget(): Promise<void> {}
}
