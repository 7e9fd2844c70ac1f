import type { KubernetesSettings } from '@tidegate/contracts/driver-settings';
import type { Driver, DriverReport, DriverTimings, LeftBehind, ReplicaAddress } from '../driver.ts';
import { apiPauseMs, jittered, pause } from '../pause.ts';
import { inspect, type Problem } from '../probe/inspect.ts';
import { describeProblems, probeHealth } from '../probe/problems.ts';
import type { UpstreamAccess } from '../upstream-access.ts';
import { ApiError, type KubernetesApi } from './api.ts';
import { WantedCount } from './count.ts';
import { describeApiError, isAbsent, isForbidden } from './errors.ts';
import { followEndpoints } from './follow.ts';
import { ReplicaProbes } from './replica-probes.ts';
import { countOf, switchOff, switchOn } from './scale.ts';
import { replicasOf } from './slices.ts';
import { whyNotReady } from './why.ts';

export interface KubernetesDriverOptions {
  readonly api: KubernetesApi;
  readonly settings: KubernetesSettings;
  readonly access: UpstreamAccess;
  /** An always-on model is not switched off when it cannot start. */
  readonly alwaysOn: boolean;
  readonly timings: DriverTimings;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly report: (report: DriverReport) => void;
  readonly onProbeFailure: () => void;
}

/** One launch. */
interface Run {
  readonly ending: AbortController;
  readonly probes: ReplicaProbes;
  readonly deadlineMs: number;
  up: boolean;
  readonly count: WantedCount;
  /** The last reported reason. Empty: none since the model was up. */
  reason: string;
  /** What the endpoints say against the Service, and why they cannot be read. Empty: nothing. */
  endpointsProblem: string;
}

const NOTHING = { replicas: [], count: 0 };
const HALT_ATTEMPTS = 3;
/** How long a takeover waits for Kubernetes to say what runs. */
const LOOK_MS = 5_000;

/**
 * Switches a Deployment or StatefulSet on and off by setting its replica count, and calls the ready
 * endpoints of its Service. Kubernetes keeps it running: whatever the runner does, pods outlive it.
 */
export class KubernetesDriver implements Driver {
  readonly #options: KubernetesDriverOptions;
  #run: Run | null = null;
  /** Replicas that were found before the launch. */
  #found: { readonly replicas: readonly ReplicaAddress[]; readonly count: number } = NOTHING;
  /** The switching on under way. `halt` waits for it, so that nothing starts behind its back. */
  #switching: Promise<unknown> = Promise.resolve();

  constructor(options: KubernetesDriverOptions) {
    this.#options = options;
  }

  async leftBehind(): Promise<LeftBehind> {
    const { api, settings } = this.#options;
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), LOOK_MS);
    try {
      const scale = await api.scale(settings, limit.signal);
      if (countOf(scale) === 0) return 'nothing';
      const { slices } = await api.endpointSlices(settings.namespace, settings.service, limit.signal);
      this.#found = { ...replicasOf(slices, settings.port), count: countOf(scale) };
      return this.#found.replicas.length > 0 ? 'process' : 'pending';
    } catch (error) {
      return (error as ApiError).status === 404 ? 'nothing' : 'pending';
    } finally {
      clearTimeout(timer);
    }
  }

  launch(resumed: boolean): void {
    this.release();
    const { timings, random, settings, nowMs, onProbeFailure } = this.#options;
    const probes = new ReplicaProbes({
      timings,
      random,
      onProbeFailure,
      probe: (baseUrl, signal) => this.#probe(baseUrl, signal),
      onChange: () => this.#judge(run),
    });
    const ending = new AbortController();
    const count = new WantedCount(this.#options, this.#found.count, ending.signal, () => {
      if (run.up) this.#judge(run);
    });
    const run: Run = {
      ending,
      probes,
      count,
      up: false,
      reason: '',
      endpointsProblem: '',
      deadlineMs: nowMs() + settings.startTimeoutS * 1_000,
    };
    this.#run = run;
    ending.signal.addEventListener('abort', () => probes.close(), { once: true });
    if (resumed) {
      probes.set(this.#found.replicas, true);
      this.#judge(run);
    }
    void this.#bringUp(run);
  }

  async halt(): Promise<void> {
    this.release();
    await this.#switching;
    const { api, settings, timings, nowMs, random } = this.#options;
    const { signal } = new AbortController();
    const deadlineMs = nowMs() + timings.scaleDownMs;
    for (let failures = 0; ; ) {
      try {
        if ((await switchOff(api, settings, signal)) === 0) return;
        failures = 0;
        if (nowMs() >= deadlineMs) throw new Error('it was scaled to 0 and still has pods that do not end');
      } catch (error) {
        if ((error as ApiError).status === 404) return;
        failures++;
        if (!(error instanceof ApiError) || failures >= HALT_ATTEMPTS) throw error;
      }
      await pause(apiPauseMs(Math.max(failures, 1), timings, random), signal);
    }
  }

  release(): void {
    this.#run?.ending.abort();
  }

  async forget(): Promise<void> {}

  async #bringUp(run: Run): Promise<void> {
    if (!(await this.#switchOn(run))) return;
    const { api, settings, timings, random } = this.#options;
    const { signal } = run.ending;
    void followEndpoints(
      {
        api,
        namespace: settings.namespace,
        service: settings.service,
        timings,
        random,
        onSlices: (slices) => {
          if (signal.aborted) return;
          const { replicas, problem } = replicasOf(slices, settings.port);
          run.endpointsProblem =
            slices.length === 0 ? `There is no Service ${settings.service} with endpoints.` : problem;
          run.probes.set(replicas);
          if (run.up) void run.count.read();
        },
        onError: (error) => {
          run.endpointsProblem = describeApiError(error, settings);
        },
      },
      signal,
    );
    void run.count.follow(() => run.up);
    await this.#watchStart(run);
  }

  /** Tries until it is done. False: the run has ended. */
  async #switchOn(run: Run): Promise<boolean> {
    const { api, settings, timings, alwaysOn, nowMs, random } = this.#options;
    const { signal } = run.ending;
    // Not `signal`: what was sent may still be done. `halt` must come after it.
    const { signal: uncut } = new AbortController();
    let forbiddenMs: number | null = null;
    for (let failures = 1; !signal.aborted; failures++) {
      const attempt = switchOn(api, settings, settings.replicas, uncut);
      this.#switching = attempt.catch(() => {});
      try {
        run.count.value = await attempt;
        return !signal.aborted;
      } catch (error) {
        const reason = describeApiError(error, settings);
        forbiddenMs = isForbidden(error) ? (forbiddenMs ?? nowMs()) : null;
        const final =
          isAbsent(error) || (forbiddenMs !== null && nowMs() - forbiddenMs >= timings.forbiddenMs);
        if (final || (nowMs() >= run.deadlineMs && !alwaysOn)) this.#lose(run, reason);
        else if (nowMs() >= run.deadlineMs) this.#complain(run, reason);
      }
      await pause(apiPauseMs(failures, timings, random), signal);
    }
    return false;
  }

  /** While there is no replica to call: finds out why, and gives up in the end. */
  async #watchStart(run: Run): Promise<void> {
    const { timings, nowMs, random } = this.#options;
    const { signal } = run.ending;
    let sinceMs: number | null = null;
    for (let looks = 0; !signal.aborted; looks++) {
      const pauseMs = Math.min(timings.podPollMs * 2 ** Math.min(looks, 10), timings.maxApiRetryMs);
      await pause(jittered(run.up ? timings.podPollMs : pauseMs, random), signal);
      if (signal.aborted) return;
      if (run.up) {
        // It is looked at again when it is down.
        looks = -1;
        sinceMs = null;
        continue;
      }
      const late = nowMs() >= run.deadlineMs;
      if (run.probes.size > 0) {
        // Their probes say what is wrong.
        if (late && run.reason === '')
          this.#giveUp(run, this.#tooLate(describeProblems(run.probes.problems)));
        continue;
      }
      const why = await whyNotReady(this.#options, run.endpointsProblem, late, signal);
      if (signal.aborted || run.up) continue;
      if (why.off) return this.#lose(run, 'Somebody else scaled it to 0.');
      sinceMs = why.lasting ? (sinceMs ?? nowMs()) : null;
      const hopeless = sinceMs !== null && nowMs() - sinceMs >= timings.podProblemMs;
      if (hopeless) this.#giveUp(run, why.reason);
      else if (late) this.#giveUp(run, this.#tooLate(why.reason));
    }
  }

  #tooLate(reason: string): string {
    return `The model was not ready within ${this.#options.settings.startTimeoutS} s. ${reason}`;
  }

  /** Reports what the replicas' probes and endpoints add up to. */
  #judge(run: Run): void {
    if (run.ending.signal.aborted) return;
    const { probes } = run;
    const replicas = probes.healthy;
    if (replicas.length > 0) {
      run.up = true;
      run.reason = '';
      // A rollout has more pods than the count.
      this.#options.report({ type: 'up', replicas, total: Math.max(run.count.value, probes.size) });
    } else if (probes.size === 0) void this.#noteLoss(run);
    else {
      const { problems } = probes;
      const misconfigured = problems.every(({ kind }) => kind === 'misconfigured');
      // What does not answer yet may be starting.
      if (problems.length === probes.size && (run.up || misconfigured))
        this.#complain(run, describeProblems(problems));
    }
  }

  /** Kubernetes has no ready replica any more. */
  async #noteLoss(run: Run): Promise<void> {
    if (!run.up && run.reason === '') return;
    run.up = false;
    const { api, settings } = this.#options;
    const scale = await api.scale(settings, run.ending.signal).catch(() => null);
    if (run.ending.signal.aborted || run.probes.size > 0) return;
    if (scale && countOf(scale) === 0) return this.#lose(run, 'Somebody else scaled it to 0.');
    run.ending.abort();
    this.#options.report({ type: 'restarting' });
  }

  #probe(baseUrl: string, signal: AbortSignal): Promise<Problem | null> {
    const { settings, access, timings } = this.#options;
    const timeoutMs = timings.probeTimeoutMs;
    if (settings.healthPath === undefined)
      return inspect({ baseUrl, ...access, own: true, timeoutMs }, signal);
    return probeHealth(new URL(settings.healthPath, baseUrl).href, access.key, timeoutMs, signal);
  }

  /** The start has failed. */
  #giveUp(run: Run, reason: string): void {
    if (this.#options.alwaysOn) this.#complain(run, reason);
    else this.#lose(run, reason);
  }

  /** Reports why it cannot be called, and goes on. */
  #complain(run: Run, reason: string): void {
    if (run.ending.signal.aborted || run.reason === reason) return;
    run.up = false;
    run.reason = reason;
    this.#options.report({ type: 'down', reason, watching: true });
  }

  /** Ends a run with its last report. */
  #lose(run: Run, reason: string): void {
    if (run.ending.signal.aborted) return;
    run.ending.abort();
    this.#options.report({ type: 'down', reason, watching: false });
  }
}
