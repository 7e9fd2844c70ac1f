import { signal } from '@tidegate/processes';
import { StackError } from '../errors.ts';

/**
 * How often a start is tried if the run ends before it is ready. A service may start faster than
 * what it depends on.
 */
const START_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 5_000;

/** One run of a process or a store, from its start to its end. */
export interface Run {
  /** Undefined: it could not be started. */
  readonly pid: number | undefined;
  /** Resolves to the way in which it ended. */
  readonly exited: Promise<string>;
  /** False: it ended first, or the time is up. */
  ready(): Promise<boolean>;
  /** Resolves when nothing of it is left. Idempotent. */
  stop(): Promise<void>;
}

/** What can be supervised. */
export interface Startable {
  /** Unique in the stack: gateway, gateway-2, postgres, ... */
  readonly name: string;
  /** After a run that has lasted this long, the next one starts immediately. */
  readonly steadyMs: number;
  /** @throws EmbeddedError when a store does not start */
  launch(): Promise<Run>;
  /** Why it is not ready: it ended, or it is stuck. */
  failure(stuck: boolean): StackError;
}

export interface SupervisedEvents {
  /** It ended unexpectedly. It is being restarted. */
  died(name: string, how: string): void;
  /** It is ready, for the first time or again. */
  ready(name: string): void;
  /** A new run has begun. */
  spawned(name: string): void;
}

/** Keeps a process or a store running until it is stopped. Restarts it whenever it dies. */
export class Supervised {
  readonly name: string;
  readonly #spec: Startable;
  readonly #events: SupervisedEvents;
  #run: Run | null = null;
  #opening: Promise<Run> | null = null;
  #wanted = false;
  #wasReady = false;
  #startedAtMs = 0;
  #backoffMs = FIRST_BACKOFF_MS;
  #retry: NodeJS.Timeout | undefined;

  constructor(spec: Startable, events: SupervisedEvents) {
    this.name = spec.name;
    this.#spec = spec;
    this.#events = events;
  }

  /** The pid of the current run. Null between two runs. */
  get pid(): number | null {
    return this.#run?.pid ?? null;
  }

  /**
   * Resolves when it is ready.
   *
   * @throws StackError when it does not become ready, or is stopped before that
   */
  async start(): Promise<void> {
    this.#wanted = true;
    this.#wasReady = false;
    for (let attempt = 1; ; attempt++) {
      if (await this.#bringUp()) return;
      if (!this.#wanted) throw new StackError(`${this.name} was stopped while it started.`);
      if (this.#run !== null || attempt >= START_ATTEMPTS) break;
    }
    const stuck = this.#run !== null;
    await this.stop();
    throw this.#spec.failure(stuck);
  }

  /** Sends a signal to its process alone. If that ends it, it is restarted. */
  kill(name: NodeJS.Signals): void {
    if (this.pid !== null) signal(this.pid, name);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Idempotent. A run that is just beginning is stopped, too. */
  async stop(): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#retry);
    await this.#opening?.catch(() => {});
    await this.#run?.stop();
  }

  /** False: it ended, got stuck or was stopped before that. Rejects when it cannot begin. */
  async #bringUp(): Promise<boolean> {
    this.#opening = this.#open();
    const run = await this.#opening;
    if (!this.#wanted || !(await run.ready()) || this.#run !== run) return false;
    this.#wasReady = true;
    this.#events.ready(this.name);
    return true;
  }

  async #open(): Promise<Run> {
    const run = await this.#spec.launch();
    this.#run = run;
    this.#startedAtMs = performance.now();
    void run.exited.then((how) => {
      this.#run = null;
      if (this.#wanted && this.#wasReady) this.#onDeath(how);
    });
    this.#events.spawned(this.name);
    return run;
  }

  #onDeath(how: string): void {
    if (performance.now() - this.#startedAtMs > this.#spec.steadyMs) this.#backoffMs = FIRST_BACKOFF_MS;
    this.#events.died(this.name, how);
    this.#bringUpLater();
  }

  /** A run that lives goes on, even if an event failed. Its end brings the next one. */
  #bringUpLater(): void {
    if (!this.#wanted || this.#run !== null) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#bringUp().catch(() => this.#bringUpLater()), this.#backoffMs);
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS);
  }
}
