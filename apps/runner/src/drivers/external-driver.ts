import { createHash } from 'node:crypto';
import type { Driver, DriverReport, DriverTimings, Held, Replica } from './driver.ts';
import { jittered, pause } from './pause.ts';
import { type ProbeFailure, probe } from './probe.ts';
import type { ExternalSettings } from './settings.ts';

export interface ExternalDriverOptions {
  readonly settings: ExternalSettings;
  /** Bearer token of the upstream; empty: none. */
  readonly upstreamKey: string;
  readonly timings: DriverTimings;
  readonly random: () => number;
  readonly report: (report: DriverReport) => void;
  readonly onProbeFailure: () => void;
}

interface Watched {
  readonly replica: Replica;
  readonly probeUrl: string;
  healthy: boolean;
  failures: number;
  lastFailure: ProbeFailure;
}

/** Servers that someone else runs. Each is probed on its own; those that answer are the replicas. */
export class ExternalDriver implements Driver {
  readonly #options: ExternalDriverOptions;
  #run = new AbortController();

  constructor(options: ExternalDriverOptions) {
    this.#options = options;
    this.#run.abort();
  }

  async held(): Promise<Held> {
    return 'remote';
  }

  launch(resumed: boolean): void {
    this.#run.abort();
    const run = new AbortController();
    this.#run = run;
    const { settings } = this.#options;
    const all = settings.urls.map((url): Watched => {
      const probeUrl = settings.healthPath ? new URL(settings.healthPath, url).href : `${url}/models`;
      const id = createHash('sha256').update(url).digest('hex').slice(0, 12);
      return { replica: { id, baseUrl: url }, probeUrl, healthy: resumed, failures: 0, lastFailure: null };
    });
    if (resumed) this.#reportReplicas(all);
    else void this.#judgeAfterGrace(all, run.signal);
    for (const watched of all) void this.#watch(watched, all, run.signal);
  }

  async halt(): Promise<void> {
    this.#run.abort();
  }

  release(): void {
    this.#run.abort();
  }

  async forget(): Promise<void> {}

  async #judgeAfterGrace(all: readonly Watched[], signal: AbortSignal): Promise<void> {
    await pause(this.#options.timings.remoteGraceMs, signal);
    if (!signal.aborted && !all.some(({ healthy }) => healthy)) this.#reportReplicas(all);
  }

  async #watch(watched: Watched, all: readonly Watched[], signal: AbortSignal): Promise<void> {
    const { timings, random } = this.#options;
    while (!signal.aborted) {
      const failure = await probe(
        {
          url: watched.probeUrl,
          key: this.#options.upstreamKey,
          timeoutMs: timings.probeTimeoutMs,
          isUp: (status) => status < 500,
        },
        signal,
      );
      if (signal.aborted) return;
      if (this.#note(watched, failure)) this.#reportReplicas(all);
      await pause(jittered(failure === null ? timings.probeMs : timings.retryProbeMs, random), signal);
    }
  }

  /** True: it came or went. */
  #note(watched: Watched, failure: ProbeFailure): boolean {
    watched.lastFailure = failure;
    if (failure === null) {
      watched.failures = 0;
      if (watched.healthy) return false;
      watched.healthy = true;
      return true;
    }
    watched.failures++;
    this.#options.onProbeFailure();
    if (!watched.healthy || watched.failures < this.#options.timings.probesToEject) return false;
    watched.healthy = false;
    return true;
  }

  #reportReplicas(all: readonly Watched[]): void {
    const replicas = all.filter(({ healthy }) => healthy).map(({ replica }) => replica);
    if (replicas.length > 0) {
      this.#options.report({ type: 'up', replicas });
      return;
    }
    const failures = [...new Set(all.map(({ lastFailure }) => lastFailure ?? 'no answer yet'))].join(', ');
    const who = all.length === 1 ? 'Its server does not answer' : `None of its ${all.length} servers answers`;
    this.#options.report({ type: 'down', reason: `${who} (${failures}).`, watching: true });
  }
}
