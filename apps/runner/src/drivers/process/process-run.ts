import type { ProcessSettings } from '@tidegate/contracts/driver-settings';
import { type Exit, isAlive, type SystemUser } from '@tidegate/processes';
import { type Clocks, monotonicSince } from '../../clocks.ts';
import { jittered, pause } from '../../pause.ts';
import type { DriverReport, DriverTimings } from '../driver.ts';
import type { NoAnswer } from '../probe/get.ts';
import type { Problem } from '../probe/inspect.ts';
import type { UpstreamAccess } from '../upstream-access.ts';
import { describeExit, describeStartFailure } from './describe-exit.ts';
import { boundLog, logFileOf } from './log-file.ts';
import type { Ports } from './ports.ts';
import { lastLines, NO_OUTPUT, type ProcessOutput, secretsOf } from './process-output.ts';
import { ProcessProbe } from './process-probe.ts';
import { type Spawned, spawnModel } from './spawn.ts';
import type { ProcessRecord } from './state-file.ts';

export interface ProcessRunOptions extends Clocks {
  readonly modelId: string;
  readonly settings: ProcessSettings;
  readonly access: UpstreamAccess;
  readonly stateDir: string;
  readonly ports: Ports;
  /** The host name or address by which gateways and the runner reach the process. */
  readonly host: string;
  /** Keep the output of the process. A model server may print prompts. */
  readonly keepOutput: boolean;
  /** The environment of the process, besides `PORT`. */
  readonly env: Readonly<Record<string, string>>;
  /** The user that the process runs as. Null: the runner's own. */
  readonly user: SystemUser | null;
  /** An always-on model is not ended when calls to it cannot work. */
  readonly alwaysOn: boolean;
  readonly timings: DriverTimings;
  /**
   * Whether this runner leads its pool at this moment. If it stood still, another one may have
   * started the model meanwhile. So it starts and ends nothing without asking this first.
   */
  readonly leads: () => boolean;
  readonly random: () => number;
  readonly report: (report: DriverReport) => void;
  readonly onProbeFailure: () => void;
}

/**
 * One run of a model's process: follows it, and reports on it until it is lost or the run is ended.
 * Ending a run does not end the process.
 */
export class ProcessRun {
  readonly #options: ProcessRunOptions;
  readonly #probe: ProcessProbe;
  readonly #ending = new AbortController();
  /** Ends the pause before the next probe. */
  #pausing = new AbortController();
  #access: UpstreamAccess;
  /** Probes in a row that found that calls cannot work. */
  #faults = 0;
  /** Since when it has been reported as one that cannot be called. */
  #faultySinceMs = 0;
  /** The last reported reason. Empty: none since it was up. */
  #reason = '';
  /** Whether it has been ready. */
  #up = false;
  /** Whether the process has ended. */
  #gone = false;

  constructor(options: ProcessRunOptions) {
    this.#options = options;
    this.#access = options.access;
    this.#probe = new ProcessProbe(options);
  }

  end(): void {
    this.#ending.abort();
    this.#pausing.abort();
  }

  /** From now on it is called with this key and name. Finds out soon whether that can work. */
  change(access: UpstreamAccess): void {
    this.#access = access;
    this.#pausing.abort();
  }

  /**
   * Starts the process. Resolves once it has started or will not start. Never rejects. If this
   * runner no longer leads, nothing is started or reported: the model is the next runner's.
   */
  async spawn(): Promise<void> {
    const { modelId, stateDir, ports, env, user, settings, keepOutput, leads, nowMs } = this.#options;
    try {
      const port = await ports.take();
      if (this.#signal.aborted) return;
      const spawned = await spawnModel({
        stateDir,
        modelId,
        env,
        user,
        port,
        keepOutput,
        mayStart: leads,
        command: settings.command,
        nowMs: nowMs(),
      });
      if (spawned !== null) this.#follow(spawned, false);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      this.#lose(`The model's process could not be started${code ? ` (${code})` : ''}.`);
    }
  }

  /** Takes over a process that an earlier runner started. `resumed`: as in `Driver`. */
  adopt(record: ProcessRecord, resumed: boolean): void {
    this.#follow({ record, exited: this.#adoptedExit(record), printed: NO_OUTPUT }, resumed);
  }

  get #signal(): AbortSignal {
    return this.#ending.signal;
  }

  #follow({ record, exited, printed }: Spawned, resumed: boolean): void {
    const { stateDir, modelId, keepOutput } = this.#options;
    this.#signal.addEventListener('abort', printed.forget, { once: true });
    void exited.then(async (exit) => {
      this.#gone = true;
      if (this.#up) this.#lose(`The model's process ${describeExit(exit)}.`);
      else await this.#failStart(printed, (lines) => describeStartFailure(exit, this.#command, lines));
    });
    if (keepOutput) void boundLog(stateDir, modelId, this.#signal);
    void this.#watch(record, printed, resumed);
  }

  /**
   * `resumed`: the process is up until a probe says otherwise. Then this reports it immediately.
   */
  async #watch(record: ProcessRecord, printed: ProcessOutput, resumed: boolean): Promise<void> {
    if (!resumed && !(await this.#becomeReady(record, printed))) return;
    // The start has failed, but the run continues until the last lines are read.
    if (this.#gone) return;
    this.#up = true;
    printed.forget();
    this.#reportUp(record);
    // What an earlier runner found is not known, nor whether key and name have changed since.
    await this.#watchHealth(record, resumed);
  }

  #reportUp({ pid, port }: ProcessRecord): void {
    const replica = { id: `${pid}-${port}`, baseUrl: this.#probe.baseUrl(port) };
    this.#options.report({ type: 'up', replicas: [replica] });
  }

  get #command(): string {
    return this.#options.settings.command;
  }

  async #becomeReady(record: ProcessRecord, printed: ProcessOutput): Promise<boolean> {
    const { settings, timings, monotonicMs, random } = this.#options;
    const deadlineMs = monotonicSince(record.launchedAtMs, this.#options) + settings.startTimeoutS * 1_000;
    for (;;) {
      const failure = (await this.#health(record)) ?? (await this.#inspectReady(record));
      if (this.#signal.aborted) return false;
      if (failure === null) return true;
      if (monotonicMs() >= deadlineMs) {
        const reason = `The model was not ready within ${settings.startTimeoutS} s (${failure}).`;
        await this.#failStart(printed, () => reason);
        return false;
      }
      await pause(jittered(timings.startProbeMs, random), this.#signal);
    }
  }

  /** Finds out whether calls can work, once the health path says that the process is ready. */
  async #inspectReady(record: ProcessRecord): Promise<NoAnswer | null> {
    const problem = await this.#probe.calls(record.port, this.#access, this.#signal);
    if (problem?.kind === 'misconfigured') this.#lose(problem.sentence);
    // Without an answer, the process may have died meanwhile.
    return problem?.kind === 'no_answer' ? this.#health(record) : null;
  }

  #health({ port }: ProcessRecord): Promise<NoAnswer | null> {
    return this.#probe.health(port, this.#signal);
  }

  /** @param now whether to begin without a pause */
  async #watchHealth(record: ProcessRecord, now: boolean): Promise<void> {
    const { timings, random, onProbeFailure } = this.#options;
    let failures = 0;
    for (let pauseMs = now ? 0 : timings.probeMs; !this.#signal.aborted; ) {
      await pause(jittered(pauseMs, random), this.#pausing.signal);
      if (this.#signal.aborted) return;
      // A change during the probe ends the next pause.
      this.#pausing = new AbortController();
      const failure = await this.#health(record);
      const problem =
        failure === null ? await this.#probe.calls(record.port, this.#access, this.#signal) : null;
      if (this.#signal.aborted) return;
      failures = failure === null ? 0 : failures + 1;
      if (failure !== null || problem?.kind === 'misconfigured') onProbeFailure();
      if (failures >= timings.probesToLose)
        this.#lose(`The model stopped answering its health probes (${failure}).`);
      if (failure === null) this.#judge(record, problem);
      const inDoubt = failures > 0 || (this.#faults > 0 && this.#reason === '');
      pauseMs = inDoubt ? timings.retryProbeMs : timings.probeMs;
    }
  }

  /**
   * Reports whether calls to the process can work, when that changes. The process is left alone,
   * because calls may work again when the key or the name is changed back. A model that wakes on
   * request is given up after its start timeout, so that it gives back its room.
   */
  #judge(record: ProcessRecord, problem: Problem | null): void {
    const { timings, settings, alwaysOn, monotonicMs, report } = this.#options;
    // The health path has answered.
    if (problem?.kind === 'no_answer') return;
    if (problem === null) {
      if (this.#reason !== '') this.#reportUp(record);
      this.#faults = 0;
      this.#reason = '';
      return;
    }
    const { sentence } = problem;
    this.#faults++;
    if (this.#faults < timings.probesToEject) return;
    if (this.#reason === '') this.#faultySinceMs = monotonicMs();
    const late = monotonicMs() - this.#faultySinceMs >= settings.startTimeoutS * 1_000;
    if (late && !alwaysOn) this.#lose(sentence);
    else if (sentence !== this.#reason) report({ type: 'down', reason: sentence, watching: true });
    this.#reason = sentence;
  }

  async #adoptedExit(record: ProcessRecord): Promise<Exit> {
    while (!this.#signal.aborted && isAlive(record))
      await pause(this.#options.timings.exitPollMs, this.#signal);
    return { code: null, signal: null };
  }

  /**
   * Reports a failed start with the last lines printed. No request has reached the process yet, so
   * they contain no content.
   */
  async #failStart(printed: ProcessOutput, describe: (lines: string) => string): Promise<void> {
    const { env, access, keepOutput, stateDir, modelId, timings } = this.#options;
    const raw = await printed.tail(timings.outputEndMs);
    // The key may have changed meanwhile, and the process may have printed both.
    const lines = lastLines(raw, secretsOf(env, this.#command, [access.key, this.#access.key]));
    const log = keepOutput ? ` Its log is ${logFileOf(stateDir, modelId)}.` : '';
    this.#lose(describe(lines) + log, lines);
  }

  /** Ends the run with its last report. */
  #lose(reason: string, printed = ''): void {
    if (this.#signal.aborted) return;
    this.end();
    this.#options.report({ type: 'down', reason, ...(printed ? { printed } : {}), watching: false });
  }
}
