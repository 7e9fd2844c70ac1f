import { createHash } from 'node:crypto';
import type { ExternalSettings } from '@tidegate/contracts/driver-settings';
import type { Logger } from '@tidegate/runtime';
import { pause } from '../pause.ts';
import { probePauseMs } from './backoff.ts';
import type {
  DownReplica,
  Driver,
  DriverReport,
  DriverTimings,
  LeftBehind,
  ReplicaAddress,
} from './driver.ts';
import type { Get } from './probe/get.ts';
import type { Problem } from './probe/inspect.ts';
import { probe } from './probe/probe.ts';
import { describeProblems } from './probe/problems.ts';
import type { UpstreamAccess } from './upstream-access.ts';

export interface ExternalDriverOptions {
  readonly settings: ExternalSettings;
  readonly access: UpstreamAccess;
  readonly timings: DriverTimings;
  readonly get: Get;
  readonly random: () => number;
  readonly report: (report: DriverReport) => void;
  readonly onProbeFailure: () => void;
  readonly logger: Logger;
}

interface Watched {
  readonly replica: ReplicaAddress;
  healthy: boolean;
  failures: number;
  /** Null: none. Undefined: not probed yet. */
  problem: Problem | null | undefined;
  /** Why it is left out, as the log has it; empty: it is not. */
  logged: string;
}

/** One launch. */
interface Run {
  readonly all: readonly Watched[];
  readonly signal: AbortSignal;
  /** Whether servers have had their time to start. From then on failures are reported. */
  settled: boolean;
  /** The last reported reason. Empty: none since the model was up. */
  reason: string;
}

/**
 * Watches servers that someone else runs. Each is probed on its own. Those that can be called are
 * the replicas.
 */
export class ExternalDriver implements Driver {
  readonly #options: ExternalDriverOptions;
  #run = new AbortController();
  #all: readonly Watched[] = [];

  constructor(options: ExternalDriverOptions) {
    this.#options = options;
    this.#run.abort();
  }

  async leftBehind(): Promise<LeftBehind> {
    return 'remote';
  }

  launch(resumed: boolean): void {
    this.#run.abort();
    this.#run = new AbortController();
    const { signal } = this.#run;
    const all = this.#options.settings.urls.map((baseUrl): Watched => {
      const id = createHash('sha256').update(baseUrl).digest('hex').slice(0, 12);
      return { replica: { id, baseUrl }, healthy: resumed, failures: 0, problem: undefined, logged: '' };
    });
    this.#all = all;
    const run: Run = { all, signal, settled: resumed, reason: '' };
    if (resumed) this.#report(run);
    else void this.#settleAfterGrace(run);
    for (const watched of all) void this.#watch(watched, run);
  }

  async halt(): Promise<void> {
    this.#run.abort();
  }

  release(): void {
    this.#run.abort();
  }

  async forget(): Promise<void> {}

  down(): DownReplica[] {
    return this.#all
      .filter(({ healthy }) => !healthy)
      .map(({ replica: { baseUrl }, problem }) => ({
        baseUrl,
        reason: describeProblems([problem ?? NOT_YET]),
      }));
  }

  async #settleAfterGrace(run: Run): Promise<void> {
    await pause(this.#options.timings.remoteGraceMs, run.signal);
    if (run.signal.aborted) return;
    run.settled = true;
    // From now on the pauses grow.
    for (const watched of run.all) watched.failures = Math.min(watched.failures, 1);
    if (!run.all.some(({ healthy }) => healthy)) this.#report(run);
  }

  async #watch(watched: Watched, run: Run): Promise<void> {
    const { timings, random } = this.#options;
    while (!run.signal.aborted) {
      const problem = await this.#probe(watched.replica.baseUrl, run.signal);
      if (run.signal.aborted) return;
      const changed = this.#note(watched, problem);
      this.#log(watched, run);
      if (changed || !run.all.some(({ healthy }) => healthy)) this.#report(run);
      const failures = run.settled ? watched.failures : Math.min(watched.failures, 1);
      await pause(probePauseMs(failures, timings, random), run.signal);
    }
  }

  #probe(baseUrl: string, signal: AbortSignal): Promise<Problem | null> {
    const { settings, access, timings, get } = this.#options;
    const server = { baseUrl, ...access, own: false, timeoutMs: timings.probeTimeoutMs, get };
    return probe(server, settings.healthPath, signal);
  }

  /** Returns whether the replica came or went. */
  #note(watched: Watched, problem: Problem | null): boolean {
    watched.problem = problem;
    if (problem === null) {
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

  /**
   * Logs why a replica cannot be called. The model's condition shows only whether any replica can.
   */
  #log(watched: Watched, { settled }: Run): void {
    const { healthy, problem, replica } = watched;
    // It may just be starting.
    if (!healthy && !settled && problem?.kind === 'no_answer') return;
    const reason = healthy || !problem ? '' : describeProblems([problem]);
    if (reason === watched.logged) return;
    watched.logged = reason;
    const { logger } = this.#options;
    if (reason) logger.warn({ replica: replica.baseUrl, reason }, 'a replica cannot be called');
    else logger.info({ replica: replica.baseUrl }, 'a replica can be called again');
  }

  #report(run: Run): void {
    const replicas = run.all.filter(({ healthy }) => healthy).map(({ replica }) => replica);
    if (replicas.length > 0) {
      run.settled = true;
      run.reason = '';
      this.#options.report({ type: 'up', replicas, total: run.all.length });
      return;
    }
    if (!run.settled && !run.all.every(({ problem }) => problem?.kind === 'misconfigured')) return;
    const reason = describeProblems(run.all.map(({ problem }) => problem ?? NOT_YET));
    if (reason === run.reason) return;
    run.reason = reason;
    run.settled = true;
    this.#options.report({ type: 'down', reason, watching: true });
  }
}

const NOT_YET: Problem = { kind: 'no_answer', words: 'no answer yet' };
