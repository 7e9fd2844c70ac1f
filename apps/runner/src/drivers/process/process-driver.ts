import { endGroup, isAlive } from '@tidegate/processes';
import type { Driver, LeftBehind } from '../driver.ts';
import type { UpstreamAccess } from '../upstream-access.ts';
import { removeLog } from './log-file.ts';
import { ProcessRun, type ProcessRunOptions } from './process-run.ts';
import { type ProcessRecord, readRecord, removeRecord, writeRecord } from './state-file.ts';

/**
 * Runs a command on this machine, in its own process group. The process outlives the runner, and
 * the next runner adopts it.
 */
export class ProcessDriver implements Driver {
  readonly #options: ProcessRunOptions;
  #run: ProcessRun | null = null;
  /** The spawn under way. `halt` waits for it, so that no process starts unnoticed. */
  #spawning: Promise<void> = Promise.resolve();

  constructor(options: ProcessRunOptions) {
    this.#options = options;
  }

  async leftBehind(): Promise<LeftBehind> {
    const record = this.#record();
    if (!record) return 'nothing';
    return !record.ending && isAlive(record) ? 'process' : 'remains';
  }

  launch(resumed: boolean): void {
    void this.release();
    this.#run = new ProcessRun(this.#options);
    const recorded = this.#record();
    if (recorded) this.#run.adopt(recorded, resumed);
    else this.#spawning = this.#run.spawn();
  }

  change(access: UpstreamAccess): void {
    this.#run?.change(access);
  }

  async halt(): Promise<void> {
    await this.release();
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
    if (!this.#options.leads()) throw new Error('another runner leads');
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
      // A full disk is no reason to let the process keep running.
    }
  }

  async release(): Promise<void> {
    this.#run?.end();
    await this.#spawning;
  }

  async forget(): Promise<void> {
    // A record that is left belongs to another run: the model has moved away and back meanwhile.
    if (this.#record()) return;
    removeRecord(this.#options.stateDir, this.#options.modelId);
    removeLog(this.#options.stateDir, this.#options.modelId);
  }

  #record(): ProcessRecord | null {
    return readRecord(this.#options.stateDir, this.#options.modelId);
  }
}
