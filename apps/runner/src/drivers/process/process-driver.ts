import type { ProcessSettings } from '@tidegate/contracts/driver-settings';
import { type Exit, endGroup, isAlive, type SystemUser } from '@tidegate/processes';
import { jittered, pause } from '../../pause.ts';
import type { Driver, DriverReport, DriverTimings, LeftBehind } from '../driver.ts';
import { get, type NoAnswer } from '../probe/get.ts';
import { inspect } from '../probe/inspect.ts';
import type { UpstreamAccess } from '../upstream-access.ts';
import { describeExit, describeStartFailure } from './describe-exit.ts';
import { boundLog, logFileOf, removeLog } from './log-file.ts';
import type { Ports } from './ports.ts';
import { lastLines, NO_OUTPUT, type ProcessOutput, secretsOf } from './process-output.ts';
import { spawnModel } from './spawn.ts';
import { type ProcessRecord, readRecord, removeRecord, writeRecord } from './state-file.ts';

export interface ProcessDriverOptions {
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
  /** Whom the process runs as. Null: the runner's own user. */
  readonly user: SystemUser | null;
  readonly timings: DriverTimings;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly report: (report: DriverReport) => void;
  readonly onProbeFailure: () => void;
}

/**
 * Runs a command on this machine, in its own process group. The process outlives the runner, and
 * the next runner adopts it.
 */
export class ProcessDriver implements Driver {
  readonly #options: ProcessDriverOptions;
  #run = new AbortController();
  /** The spawn under way. `halt` waits for it, so that no process starts behind its back. */
  #spawning: Promise<void> = Promise.resolve();

  constructor(options: ProcessDriverOptions) {
    this.#options = options;
  }

  async leftBehind(): Promise<LeftBehind> {
    const record = this.#record();
    if (!record) return 'nothing';
    return !record.ending && isAlive(record) ? 'process' : 'remains';
  }

  launch(resumed: boolean): void {
    this.#run.abort();
    const run = new AbortController();
    this.#run = run;
    const recorded = this.#record();
    if (recorded) this.#follow(recorded, this.#adoptedExit(recorded, run.signal), NO_OUTPUT, resumed, run);
    else this.#spawning = this.#spawn(run);
  }

  async halt(): Promise<void> {
    this.#run.abort();
    await this.#spawning;
    await this.#clear();
  }

  /**
   * Ends the recorded process and its children, even if the process itself has ended. Then removes
   * the record, unless another run has replaced it: an earlier runner may be doing the same.
   */
  async #clear(): Promise<void> {
    const { stateDir, modelId, timings } = this.#options;
    const record = this.#record();
    if (!record) return;
    this.#mark(record);
    await endGroup(record, timings);
    const now = this.#record();
    if (now?.pid === record.pid && now.identity === record.identity) removeRecord(stateDir, modelId);
  }

  /** Marks the record, so that the next runner does not adopt the process if this one dies now. */
  #mark(record: ProcessRecord): void {
    const { stateDir, modelId } = this.#options;
    try {
      if (!record.ending) writeRecord(stateDir, modelId, { ...record, ending: true });
    } catch {
      // A full disk is no reason to let the process run on.
    }
  }

  release(): void {
    this.#run.abort();
  }

  async forget(): Promise<void> {
    removeRecord(this.#options.stateDir, this.#options.modelId);
    removeLog(this.#options.stateDir, this.#options.modelId);
  }

  #record(): ProcessRecord | null {
    return readRecord(this.#options.stateDir, this.#options.modelId);
  }

  async #spawn(run: AbortController): Promise<void> {
    const { modelId, stateDir, ports, env, user, settings, keepOutput, nowMs } = this.#options;
    try {
      const port = await ports.take();
      if (run.signal.aborted) return;
      const { record, exited, printed } = await spawnModel({
        stateDir,
        modelId,
        env,
        user,
        port,
        keepOutput,
        command: settings.command,
        nowMs: nowMs(),
      });
      this.#follow(record, exited, printed, false, run);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      this.#lose(run, `The model's process could not be started${code ? ` (${code})` : ''}.`);
    }
  }

  #follow(
    record: ProcessRecord,
    exited: Promise<Exit>,
    printed: ProcessOutput,
    resumed: boolean,
    run: AbortController,
  ): void {
    const { host, stateDir, modelId, keepOutput } = this.#options;
    const replica = { id: `${record.pid}-${record.port}`, baseUrl: `http://${host}:${record.port}/v1` };
    let up = resumed;
    let gone = false;
    run.signal.addEventListener('abort', printed.forget, { once: true });
    void exited.then(async (exit) => {
      gone = true;
      if (up) this.#lose(run, `The model's process ${describeExit(exit)}.`);
      else await this.#failStart(run, printed, (lines) => describeStartFailure(exit, this.#command, lines));
    });
    if (keepOutput) void boundLog(stateDir, modelId, run.signal);
    const watch = async () => {
      if (!resumed && !(await this.#becomeReady(record, printed, run))) return;
      // The start has failed, but the run goes on until the last lines are read.
      if (gone) return;
      up = true;
      printed.forget();
      this.#options.report({ type: 'up', replicas: [replica] });
      await this.#watchHealth(record, run);
    };
    if (resumed) this.#options.report({ type: 'up', replicas: [replica] });
    void (resumed ? this.#watchHealth(record, run) : watch());
  }

  get #command(): string {
    return this.#options.settings.command;
  }

  async #becomeReady(record: ProcessRecord, printed: ProcessOutput, run: AbortController): Promise<boolean> {
    const { settings, timings, nowMs, random } = this.#options;
    const deadlineMs = record.launchedAtMs + settings.startTimeoutS * 1_000;
    for (;;) {
      const failure = (await this.#probe(record, run.signal)) ?? (await this.#inspectReady(record, run));
      if (run.signal.aborted) return false;
      if (failure === null) return true;
      if (nowMs() >= deadlineMs) {
        const reason = `The model was not ready within ${settings.startTimeoutS} s (${failure}).`;
        await this.#failStart(run, printed, () => reason);
        return false;
      }
      await pause(jittered(timings.startProbeMs, random), run.signal);
    }
  }

  /**
   * Checks the model list once the health path says that the process is ready. A list that is
   * missing or not understood is no problem.
   */
  async #inspectReady(record: ProcessRecord, run: AbortController): Promise<NoAnswer | null> {
    const { host, access, timings } = this.#options;
    const server = { baseUrl: `http://${host}:${record.port}/v1`, ...access, own: true };
    const problem = await inspect({ ...server, timeoutMs: timings.probeTimeoutMs }, run.signal);
    if (problem?.kind === 'misconfigured') this.#lose(run, problem.sentence);
    // Without a list, the process may have died meanwhile.
    return problem?.kind === 'no_answer' ? this.#probe(record, run.signal) : null;
  }

  async #watchHealth(record: ProcessRecord, run: AbortController): Promise<void> {
    const { timings, random } = this.#options;
    let failures = 0;
    while (!run.signal.aborted) {
      await pause(jittered(failures === 0 ? timings.probeMs : timings.retryProbeMs, random), run.signal);
      if (run.signal.aborted) return;
      const failure = await this.#probe(record, run.signal);
      if (run.signal.aborted) return;
      failures = failure === null ? 0 : failures + 1;
      if (failure !== null) this.#options.onProbeFailure();
      if (failures >= timings.probesToLose)
        this.#lose(run, `The model stopped answering its health probes (${failure}).`);
    }
  }

  async #probe(record: ProcessRecord, signal: AbortSignal): Promise<NoAnswer | null> {
    const { host, settings, timings } = this.#options;
    const url = `http://${host}:${record.port}${settings.healthPath}`;
    const answer = await get({ url, timeoutMs: timings.probeTimeoutMs }, signal);
    if (typeof answer === 'string') return answer;
    return answer.status >= 200 && answer.status < 300 ? null : `HTTP ${answer.status}`;
  }

  async #adoptedExit(record: ProcessRecord, signal: AbortSignal): Promise<Exit> {
    while (!signal.aborted && isAlive(record)) await pause(this.#options.timings.exitPollMs, signal);
    return { code: null, signal: null };
  }

  /**
   * Reports a failed start with the last lines printed. No request has reached the process yet, so
   * they contain no content.
   */
  async #failStart(
    run: AbortController,
    printed: ProcessOutput,
    describe: (lines: string) => string,
  ): Promise<void> {
    const { env, access, keepOutput, stateDir, modelId } = this.#options;
    const raw = await printed.tail();
    const lines = lastLines(raw, secretsOf(env, this.#command, access.key));
    const log = keepOutput ? ` Its log is ${logFileOf(stateDir, modelId)}.` : '';
    this.#lose(run, describe(lines) + log, lines);
  }

  /** Ends a run with its last report. */
  #lose(run: AbortController, reason: string, printed = ''): void {
    if (run.signal.aborted) return;
    run.abort();
    this.#options.report({ type: 'down', reason, ...(printed ? { printed } : {}), watching: false });
  }
}
