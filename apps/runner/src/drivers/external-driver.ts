import { createHash } from 'node:crypto';
import type { ExternalSettings } from '@tidegate/contracts/driver-settings';
import type { Logger } from '@tidegate/runtime';
import { pause } from '../pause.ts';
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
import { type ProbedReplica, ReplicaProbes } from './probe/replica-probes.ts';
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

/** One launch. */
interface Run {
  readonly probes: ReplicaProbes;
  readonly signal: AbortSignal;
  /**
   * Whether the servers have had enough time to start. From then on, the model has failed if none
   * can be called.
   */
  graceOver: boolean;
  /** The last report since the model was up, if any. */
  last: Extract<DriverReport, { type: 'waiting' | 'down' }> | null;
  /** Why replicas are left out, as last logged, by id. */
  readonly logged: Map<string, string>;
}

/**
 * Watches servers that someone else runs. Each is probed on its own. Those that can be called are
 * the replicas.
 */
export class ExternalDriver implements Driver {
  readonly #options: ExternalDriverOptions;
  #run = new AbortController();
  #probes: ReplicaProbes | null = null;

  constructor(options: ExternalDriverOptions) {
    this.#options = options;
    this.#run.abort();
  }

  async leftBehind(): Promise<LeftBehind> {
    return 'remote';
  }

  launch(resumed: boolean): void {
    const { settings, timings, random, onProbeFailure } = this.#options;
    this.#run.abort();
    this.#run = new AbortController();
    const { signal } = this.#run;
    const probes = new ReplicaProbes({
      timings,
      random,
      probe: (baseUrl, gone) => this.#probe(baseUrl, gone),
      onProbeFailure,
      isStarting: () => !run.graceOver,
      onProbe: (probed) => this.#log(probed, run),
      onChange: () => this.#report(run),
    });
    const run: Run = { probes, signal, graceOver: resumed, last: null, logged: new Map() };
    signal.addEventListener('abort', () => probes.close(), { once: true });
    this.#probes = probes;
    probes.set(settings.urls.map(addressOf), resumed);
    if (resumed) this.#report(run);
    else void this.#endGrace(run);
  }

  async halt(): Promise<void> {
    this.#run.abort();
  }

  async release(): Promise<void> {
    this.#run.abort();
  }

  async forget(): Promise<void> {}

  down(): DownReplica[] {
    const left = this.#probes?.all.filter(({ healthy }) => !healthy) ?? [];
    return left.map(({ replica: { baseUrl }, problem }) => ({
      baseUrl,
      reason: describeProblems([problem ?? NOT_YET]),
    }));
  }

  async #endGrace(run: Run): Promise<void> {
    await pause(this.#options.timings.remoteGraceMs, run.signal);
    if (run.signal.aborted) return;
    run.graceOver = true;
    // From now on the pauses grow.
    run.probes.forgetFailures();
    if (run.probes.healthy.length === 0) this.#report(run);
  }

  #probe(baseUrl: string, signal: AbortSignal): Promise<Problem | null> {
    const { settings, access, timings, get } = this.#options;
    const server = { baseUrl, ...access, own: false, timeoutMs: timings.probeTimeoutMs, get };
    return probe(server, settings.healthPath, signal);
  }

  /**
   * Logs why a replica cannot be called. The model's condition shows only whether any replica can.
   */
  #log({ healthy, problem, replica }: ProbedReplica, { graceOver, logged }: Run): void {
    // It may just be starting.
    if (!healthy && !graceOver && problem?.kind === 'no_answer') return;
    const reason = healthy || !problem ? '' : describeProblems([problem]);
    if (reason === (logged.get(replica.id) ?? '')) return;
    logged.set(replica.id, reason);
    const { logger } = this.#options;
    if (reason) logger.warn({ replica: replica.baseUrl, reason }, 'a replica cannot be called');
    else logger.info({ replica: replica.baseUrl }, 'a replica can be called again');
  }

  #report(run: Run): void {
    const { all, healthy: replicas } = run.probes;
    if (replicas.length > 0) {
      run.graceOver = true;
      run.last = null;
      this.#options.report({ type: 'up', replicas, total: all.length });
      return;
    }
    const reason = describeProblems(all.map(({ problem }) => problem ?? NOT_YET));
    run.graceOver ||= all.every(({ problem }) => problem?.kind === 'misconfigured');
    const type = run.graceOver ? 'down' : 'waiting';
    if (run.last?.type === type && run.last.reason === reason) return;
    run.last = type === 'down' ? { type, reason, watching: true } : { type, reason };
    this.#options.report(run.last);
  }
}

function addressOf(baseUrl: string): ReplicaAddress {
  return { id: createHash('sha256').update(baseUrl).digest('hex').slice(0, 12), baseUrl };
}

const NOT_YET: Problem = { kind: 'no_answer', words: 'no answer yet' };
