import { identify } from '@tidegate/processes';
import { StackError } from './errors.ts';
import { type Files, removeFile, writeJson } from './files.ts';
import type { StackInfo } from './info.ts';
import type { StackReport } from './options.ts';

/** Something that the stack keeps running: a store, a stand-in or a service's process. */
export interface Member {
  readonly name: string;
  readonly pid: number | null;
  kill(signal: NodeJS.Signals): void;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Everything that runs, in the order of its start. It is stopped in reverse order, stage by stage.
 */
export class Members {
  readonly #stages: Member[][] = [];
  readonly #files: Files;
  readonly #report: StackReport;
  #describe: (() => StackInfo) | null = null;
  #stopping = false;

  constructor(files: Files, report: StackReport) {
    this.#files = files;
    this.#report = report;
  }

  /** Callbacks for the members. */
  readonly events = {
    died: (name: string, how: string) => this.#stopping || this.#report.died?.(name, how),
    spawned: () => this.#record(() => this.#noteProcesses()),
    ready: (name: string) => {
      this.#record(() => this.#noteProcesses());
      if (this.#describe === null || this.#stopping) return;
      this.#record(() => this.#publish());
      this.#report.recovered?.(name);
    },
  };

  /**
   * Adds a stage. Its members are stopped together, before those of earlier stages.
   * @throws StackError when the stack is being stopped already; then the members are stopped, too
   */
  async addStage(members: readonly Member[]): Promise<void> {
    if (this.#stopping) await Promise.allSettled(members.map((member) => member.stop()));
    this.assertWanted();
    this.#stages.push([...members]);
  }

  /** @throws StackError when the stack is being stopped */
  assertWanted(): void {
    if (this.#stopping) throw new StackError('The start was cancelled.');
  }

  get(name: string): Member {
    const found = this.#stages.flat().find((member) => member.name === name);
    if (found) return found;
    const names = this.#stages.flat().map((member) => member.name);
    throw new StackError(`There is no "${name}" in the stack; there are ${names.join(', ')}.`);
  }

  pidOf = (name: string): number => this.get(name).pid ?? 0;

  /** From now on stack.json has what `describe` returns, and follows restarts. */
  publishAs(describe: () => StackInfo): void {
    this.#describe = describe;
    this.#publish();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    removeFile(this.#files.stack);
    removeFile(this.#files.env);
    const failures: unknown[] = [];
    for (const stage of this.#stages.reverse()) {
      const ended = await Promise.allSettled(stage.map((member) => member.stop()));
      for (const end of ended) if (end.status === 'rejected') failures.push(end.reason);
    }
    this.#stages.length = 0;
    removeFile(this.#files.processes);
    if (failures.length > 0) throw failures[0];
  }

  /**
   * Once the stack runs, a full disk must not stop it. What cannot be written then is written after
   * the next restart.
   */
  #record(write: () => void): void {
    try {
      write();
    } catch (error) {
      if (this.#describe === null) throw error;
    }
  }

  #publish(): void {
    if (this.#describe) writeJson(this.#files.stack, this.#describe());
  }

  /** Records the processes for the next launcher, in case this one is killed. */
  #noteProcesses(): void {
    const pids = this.#stages.flat().flatMap(({ pid }) => (pid === null ? [] : [pid]));
    writeJson(
      this.#files.processes,
      pids.map(identify).filter((known) => known !== null),
    );
  }
}
