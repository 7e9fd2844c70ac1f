import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { type Command, diesWithParent, exitOf, signal, stopChild, until } from '@tidegate/processes';
import { StackError } from '../errors.ts';
import { keepOlder, tailOf } from '../files.ts';
import { plainLog } from './log.ts';

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 25;
/**
 * How often a start is tried while the process ends before it is ready. A service may start faster
 * than what it depends on.
 */
const START_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;
/** A process that ran this long is restarted at once when it ends. */
const STEADY_MS = 10_000;
const LOG_LINES = 20;

export interface ProcessSpec {
  /** Unique in the stack: gateway, gateway-2, ... */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  readonly ready: () => Promise<boolean>;
  /** How long it may take to end after SIGTERM. Then it is killed. */
  readonly stopTimeoutMs: number;
}

export interface SupervisedEvents {
  /** The process ended unexpectedly. It is being restarted. */
  died(name: string, how: string): void;
  /** The process is ready, for the first time or again. */
  ready(name: string): void;
  /** A new process has been started. */
  spawned(name: string): void;
}

/**
 * Keeps a process running until it is stopped. It restarts the process whenever it dies and writes
 * its output to a log file. The process has its own group, so a terminal's Ctrl-C reaches only the
 * launcher. On Linux the system ends it when the launcher dies.
 */
export class Supervised {
  readonly name: string;
  readonly #spec: ProcessSpec;
  readonly #events: SupervisedEvents;
  #command: Command | null = null;
  #child: ChildProcess | null = null;
  #exited: Promise<void> = Promise.resolve();
  #wanted = false;
  #wasReady = false;
  #startedAtMs = 0;
  #backoffMs = FIRST_BACKOFF_MS;
  #retry: NodeJS.Timeout | undefined;

  constructor(spec: ProcessSpec, events: SupervisedEvents) {
    this.name = spec.name;
    this.#spec = spec;
    this.#events = events;
    keepOlder(spec.logFile);
  }

  /** The pid of the current process. Null between two processes. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /**
   * Resolves when the process is ready.
   *
   * @throws StackError with the end of its log when it does not become ready
   */
  async start(): Promise<void> {
    this.#wanted = true;
    const { command, args, cwd, env } = this.#spec;
    this.#command ??= await diesWithParent({ command, args, options: { cwd, env, detached: true } });
    if (!this.#wanted) throw new StackError(`${this.name} was stopped while it started.`);
    for (let attempt = 1; ; attempt++) {
      this.#wasReady = false;
      this.#spawn();
      if (await this.#untilReady()) return;
      if (!this.#wanted) throw new StackError(`${this.name} was stopped while it started.`);
      if (this.#child !== null || attempt >= START_ATTEMPTS) break;
    }
    const stuck = this.#child !== null;
    await this.stop();
    throw new StackError(
      stuck
        ? `${this.name} is not ready after ${READY_TIMEOUT_MS / 1000} s.`
        : `${this.name} ended while starting.`,
      {
        output: plainLog(tailOf(this.#spec.logFile, LOG_LINES)),
        hint: `All of its log: ${this.#spec.logFile}`,
      },
    );
  }

  /** Sends a signal to the process alone. If that ends it, it is restarted. */
  kill(name: NodeJS.Signals): void {
    if (this.pid !== null) signal(this.pid, name);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Ends the process and its group with SIGTERM, or by force after the time-out. Idempotent. */
  async stop(): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#retry);
    if (this.#child === null) return;
    await stopChild(this.#child, { exited: this.#exited, timeoutMs: this.#spec.stopTimeoutMs });
  }

  #spawn(): void {
    if (this.#command === null) return;
    const { command, args, options } = this.#command;
    const log = openSync(this.#spec.logFile, 'a', 0o600);
    const child = spawn(command, [...args], { ...options, stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    this.#startedAtMs = performance.now();
    this.#exited = exitOf(child).then(({ code, signal: by, error }) => {
      this.#child = null;
      this.#onExit(error?.message ?? by ?? `exit code ${code}`);
    });
    this.#events.spawned(this.name);
  }

  #onExit(how: string): void {
    if (!this.#wanted || !this.#wasReady) return;
    if (performance.now() - this.#startedAtMs > STEADY_MS) this.#backoffMs = FIRST_BACKOFF_MS;
    this.#events.died(this.name, how);
    this.#retry = setTimeout(() => {
      this.#spawn();
      void this.#untilReady();
    }, this.#backoffMs);
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS);
  }

  /** False: it ended first, or the time is up. */
  async #untilReady(): Promise<boolean> {
    const child = this.#child;
    const gone = () => this.#child !== child || child === null;
    const ready = await until(async () => gone() || (await this.#spec.ready()), {
      timeoutMs: READY_TIMEOUT_MS,
      intervalMs: READY_POLL_MS,
    });
    if (!ready || gone()) return false;
    this.#wasReady = true;
    this.#events.ready(this.name);
    return true;
  }
}

/** Ready when `url` answers 200. */
export const answersOk = (url: string) => async (): Promise<boolean> => {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
};
