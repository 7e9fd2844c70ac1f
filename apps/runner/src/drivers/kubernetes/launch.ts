import { doubledMs, jittered, pause } from '../../pause.ts';
import { apiPauseMs } from '../backoff.ts';
import { type DriverReport, type ReplicaAddress, WAITS_FOR_LAST_RUN } from '../driver.ts';
import type { Problem } from '../probe/inspect.ts';
import { probe } from '../probe/probe.ts';
import { describeProblems } from '../probe/problems.ts';
import { ReplicaProbes } from '../probe/replica-probes.ts';
import { describeApiError, isAbsent, isForbidden } from './errors.ts';
import { whyNotReady } from './explain-start.ts';
import { followEndpoints } from './follow.ts';
import { awaitEnd } from './halt.ts';
import { WantedCount } from './replica-count.ts';
import { countOf, switchOn } from './scale.ts';
import { replicasOf } from './slices.ts';
import { StartProblems } from './start-problems.ts';
import type { WorkloadOptions } from './workload-options.ts';

/**
 * One launch of a workload: switches it on, watches its replicas, and reports what they add up to,
 * until it is ended or has failed.
 */
export class Launch {
  /** The switching on that is under way. Whoever ends the workload must wait for it. */
  switching: Promise<unknown> = Promise.resolve();
  readonly #options: WorkloadOptions;
  readonly #ending = new AbortController();
  readonly #probes: ReplicaProbes;
  readonly #count: WantedCount;
  readonly #problems: StartProblems;
  /**
   * The time by which a start must be done. Extended when a model that was up can no longer be
   * called.
   */
  #deadlineMs: number;
  #up = false;
  /** The last reported reason. Empty: none since the model was up. */
  #reason = '';
  /** What is wrong with the Service's endpoints, or why they cannot be read. Empty: nothing. */
  #endpointsProblem = '';

  /** @param count how many replicas the workload had before */
  constructor(options: WorkloadOptions, count: number) {
    this.#options = options;
    const { timings, random, onProbeFailure } = options;
    const { signal } = this.#ending;
    this.#probes = new ReplicaProbes({
      timings,
      random,
      onProbeFailure,
      probe: (baseUrl, probeSignal) => this.#probe(baseUrl, probeSignal),
      // Without a readiness probe, a pod counts as ready while its server loads the model.
      isStarting: () => !this.#up && options.nowMs() < this.#deadlineMs,
      onChange: () => this.#judge(),
    });
    this.#count = new WantedCount(options, count, signal, () => {
      if (this.#up) this.#judge();
    });
    this.#problems = new StartProblems(options, (reason) => this.#wait(reason));
    this.#deadlineMs = this.#deadlineFromNow();
    signal.addEventListener('abort', () => this.#probes.close(), { once: true });
  }

  /** @param running the replicas that are taken over. Null: none, it starts afresh. */
  begin(running: readonly ReplicaAddress[] | null): void {
    if (running) {
      this.#probes.set(running, true);
      this.#judge();
    }
    void this.#bringUp(() => this.#switchOn(), this.#options.timings.forbiddenMs);
  }

  /** Starts nothing. Reports when the workload is off. */
  find(): void {
    // What may be running is given up no sooner than a start would be.
    void this.#bringUp(() => this.#read(), Number.POSITIVE_INFINITY);
  }

  end(): void {
    this.#ending.abort();
  }

  /**
   * @param askCount asks for the count, and may switch the workload on first
   * @param forbiddenMs how long a right may be missing
   */
  async #bringUp(askCount: () => Promise<number>, forbiddenMs: number): Promise<void> {
    if (!(await this.#readCount(askCount, forbiddenMs))) return;
    const { api, settings, timings, random } = this.#options;
    const { signal } = this.#ending;
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
          this.#endpointsProblem =
            slices.length === 0 ? `There is no Service ${settings.service} with endpoints.` : problem;
          this.#probes.set(replicas);
          if (this.#up) void this.#count.read();
        },
        onError: (error) => {
          this.#endpointsProblem = describeApiError(error, settings);
        },
      },
      signal,
    );
    void this.#count.follow(() => this.#up);
    await this.#watchStart();
  }

  #switchOn(): Promise<number> {
    const { api, settings } = this.#options;
    const attempt = switchOn(api, settings, settings.replicas, this.#ending.signal);
    this.switching = attempt.catch(() => {});
    return attempt;
  }

  /** Throws an `ApiError`. */
  async #read(): Promise<number> {
    const { api, settings } = this.#options;
    return countOf(await api.scale(settings, this.#ending.signal));
  }

  /** Asks until there is an answer. False: the launch has ended. */
  async #readCount(ask: () => Promise<number>, forbiddenMs: number): Promise<boolean> {
    const { settings, timings, nowMs, random } = this.#options;
    const { signal } = this.#ending;
    let forbiddenSinceMs = Number.POSITIVE_INFINITY;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const count = await ask();
        this.#count.value = count;
        this.#problems.wait('');
        if (count > 0) {
          // The reported problem is over, so the start begins again.
          if (this.#reason !== '' && this.#probes.size === 0) this.#endWith({ type: 'restarting' });
          return !signal.aborted;
        }
        this.#problems.wait(WAITS_FOR_LAST_RUN.kubernetes);
        await awaitEnd(this.#options, null, signal);
        this.#endWith({ type: 'off' });
        return false;
      } catch (error) {
        forbiddenSinceMs = isForbidden(error)
          ? Math.min(forbiddenSinceMs, nowMs())
          : Number.POSITIVE_INFINITY;
        const isForbiddenForLong = nowMs() - forbiddenSinceMs >= forbiddenMs;
        const isFinal = isAbsent(error) || isForbiddenForLong || nowMs() >= this.#deadlineMs;
        this.#noteUnknown(describeApiError(error, settings), isFinal);
      }
      await pause(apiPauseMs(failures, timings, random), signal);
    }
    return false;
  }

  /** Notes why the count is unknown. `isFinal`: it is unlikely to become known. */
  #noteUnknown(reason: string, isFinal: boolean): void {
    // Replicas that answer are called meanwhile.
    if (this.#up) return;
    if (!isFinal) this.#problems.wait(reason);
    // If there are replicas, their probes have said what is wrong.
    else if (!this.#options.alwaysOn || this.#probes.size === 0) this.#giveUp(reason);
  }

  /** While there is no replica to call: finds out why, and gives up in the end. */
  async #watchStart(): Promise<void> {
    const { timings, alwaysOn, nowMs, random } = this.#options;
    const { signal } = this.#ending;
    let downSinceMs = nowMs();
    for (let looks = 0; !signal.aborted; looks++) {
      const pauseMs = doubledMs(looks + 1, timings.podPollMs, timings.maxApiRetryMs);
      await pause(jittered(this.#up ? timings.podPollMs : pauseMs, random), signal);
      if (signal.aborted) return;
      if (this.#up) {
        // The next time it is down, the pauses between looks begin short again.
        looks = -1;
        downSinceMs = nowMs();
        this.#problems.note(null);
        continue;
      }
      const late = nowMs() >= this.#deadlineMs;
      if (this.#probes.size > 0) {
        // Their probes say what is wrong. A model that wakes on request gives back its room.
        this.#problems.note(null);
        if (late && (this.#reason === '' || !alwaysOn))
          this.#giveUp(this.#tooLate(describeProblems(this.#probes.problems)));
        continue;
      }
      const thorough = late || nowMs() - downSinceMs >= timings.podProblemMs;
      const why = await whyNotReady(this.#options, this.#endpointsProblem, thorough, signal);
      if (signal.aborted || this.#up) continue;
      if (why.off) return this.#lose('Someone else scaled it to 0.');
      if (this.#problems.note(why) === 'hopeless') this.#giveUp(why.reason);
      else if (late) this.#giveUp(this.#tooLate(why.reason));
    }
  }

  #deadlineFromNow(): number {
    const { settings, nowMs } = this.#options;
    return nowMs() + settings.startTimeoutS * 1_000;
  }

  #tooLate(reason: string): string {
    return `The model was not ready within ${this.#options.settings.startTimeoutS} s. ${reason}`;
  }

  /** Reports what the replicas' probes and endpoints add up to. */
  #judge(): void {
    if (this.#ending.signal.aborted) return;
    const probes = this.#probes;
    const replicas = probes.healthy;
    if (replicas.length > 0) {
      this.#up = true;
      this.#reason = '';
      // A rollout has more pods than the count.
      this.#options.report({ type: 'up', replicas, total: Math.max(this.#count.value, probes.size) });
    } else if (probes.size === 0) void this.#noteLoss();
    else {
      const { problems } = probes;
      const misconfigured = problems.every(({ kind }) => kind === 'misconfigured');
      // What does not answer yet may be starting.
      if (problems.length === probes.size && (this.#up || misconfigured))
        this.#reportProblem(describeProblems(problems));
    }
  }

  /** Kubernetes has no ready replica any more. */
  async #noteLoss(): Promise<void> {
    if (!this.#up && this.#reason === '') return;
    // Its replicas may be back before the answer comes. Then they are loading.
    this.#markDown();
    const { api, settings } = this.#options;
    const scale = await api.scale(settings, this.#ending.signal).catch(() => null);
    if (this.#ending.signal.aborted || this.#probes.size > 0) return;
    if (scale && countOf(scale) === 0) return this.#lose('Someone else scaled it to 0.');
    this.#endWith({ type: 'restarting' });
  }

  #probe(baseUrl: string, signal: AbortSignal): Promise<Problem | null> {
    const { settings, access, timings } = this.#options;
    const server = { baseUrl, ...access, own: true, timeoutMs: timings.probeTimeoutMs };
    return probe(server, settings.healthPath, signal);
  }

  /** A model that cannot be called has a reason already, and one that is up waits for nothing. */
  #wait(reason: string): void {
    if (this.#ending.signal.aborted || this.#up || this.#reason !== '') return;
    this.#options.report({ type: 'waiting', reason });
  }

  /** The start has failed. */
  #giveUp(reason: string): void {
    if (this.#options.alwaysOn) this.#reportProblem(reason);
    else this.#lose(reason);
  }

  /** Reports why it cannot be called, and continues. */
  #reportProblem(reason: string): void {
    if (this.#ending.signal.aborted || this.#reason === reason) return;
    this.#markDown();
    this.#reason = reason;
    this.#options.report({ type: 'down', reason, watching: true });
  }

  /** A model that was up has as long to come back as a start may take. */
  #markDown(): void {
    if (this.#up) this.#deadlineMs = this.#deadlineFromNow();
    this.#up = false;
  }

  #lose(reason: string): void {
    this.#endWith({ type: 'down', reason, watching: false });
  }

  /** Ends with the last report. */
  #endWith(report: DriverReport): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort();
    this.#options.report(report);
  }
}
