import type { Logger } from '@tidegate/runtime';
import type { CatalogSource } from '../catalog/catalog.ts';
import type { ConditionWriter } from '../catalog/condition-writer.ts';
import type { ModelSpec, PersistedCondition } from '../catalog/spec.ts';
import { haltBackoffMs } from '../condition/backoff.ts';
import {
  type Condition,
  conditionOf,
  type Effect,
  type Event,
  type State,
  step,
  takeOver,
} from '../condition/machine.ts';
import type { Driver, DriverReport, ReplicaAddress } from '../drivers/driver.ts';
import { pause } from '../drivers/pause.ts';
import type { RunnerMetrics } from '../metrics.ts';
import type { Room, Tenant } from '../room/room.ts';
import type { Gateways } from '../watch/gateways.ts';
import { catalogEntry } from './catalog-entry.ts';
import type { FleetTimings } from './timings.ts';
import { Waiters } from './waiters.ts';

/** A model's state in the form that callers get. */
export interface ModelStatus {
  readonly modelId: string;
  readonly condition: Condition;
  readonly reason: string;
  /** The first revision of the catalog that shows it. */
  readonly revision: number;
}

export interface SupervisorDeps {
  readonly catalog: CatalogSource;
  readonly gateways: Gateways;
  readonly writer: ConditionWriter;
  readonly timings: FleetTimings;
  /** What the pool's models share. */
  readonly room: Room;
  readonly now: () => number;
  readonly logger: Logger;
  readonly metrics: RunnerMetrics;
  readonly createDriver: (spec: ModelSpec, report: (report: DriverReport) => void) => Driver;
}

/** The phases in which a driver watches servers at URLs. */
const WATCHED: ReadonlySet<State['phase']> = new Set(['launching', 'running', 'unreachable']);
/** The phases in which all of a model is being ended. */
const ENDING: ReadonlySet<State['phase']> = new Set([
  ...(['draining', 'sleeping', 'stopping', 'failing', 'relaunching'] as const),
]);
/** The most callers that may wait for one model's start. */
const MAX_WAITERS = 20_000;

/**
 * Owns one model. Feeds events to its state machine, carries out the effects, and updates the
 * catalog and Postgres.
 */
export class Supervisor implements Tenant {
  readonly #deps: SupervisorDeps;
  readonly #logger: Logger;
  readonly #waiters = new Waiters(MAX_WAITERS);
  #spec: ModelSpec;
  #state: State = { phase: 'stopped', reason: '', failures: 0, crashed: false };
  #driver: Driver;
  #replicas: readonly ReplicaAddress[] = [];
  /** With those that cannot be called. */
  #replicaTotal = 0;
  #revision = 0;
  #persisted: PersistedCondition | null = null;
  #phaseTimer: NodeJS.Timeout | undefined;
  #drain: AbortController | null = null;
  #launchedAtMs = 0;
  #lastUsedMs: number;
  /** Until then it does not make room for others. */
  #staysUntilMs = 0;
  readonly #ending = new AbortController();

  constructor(spec: ModelSpec, deps: SupervisorDeps) {
    this.#spec = spec;
    this.#deps = deps;
    this.#logger = deps.logger.child({ modelId: spec.modelId });
    this.#lastUsedMs = deps.now();
    this.#driver = this.#createDriver();
  }

  get condition(): Condition {
    return conditionOf(this.#state);
  }

  /** The version of the settings that it has. */
  get version(): number {
    return this.#spec.version;
  }

  /** Whether the model may have a process on this machine. */
  get isProcess(): boolean {
    return this.#spec.driver.driver === 'process';
  }

  /** Callers that wait until it runs or will not run. */
  get waiting(): number {
    return this.#waiters.size;
  }

  status(): ModelStatus {
    const { reason } = this.#state;
    return { modelId: this.#spec.modelId, condition: this.condition, reason, revision: this.#revision };
  }

  get modelId(): string {
    return this.#spec.modelId;
  }

  get cost(): number {
    return this.#spec.cost;
  }

  get alwaysOn(): boolean {
    return this.#spec.mode === 'always_on';
  }

  get lastUsedMs(): number {
    return this.#lastUsedMs;
  }

  /** An always-on model keeps its room until it is stopped. */
  get leaving(): boolean {
    return this.#state.phase === 'stopping' || (!this.alwaysOn && ENDING.has(this.#state.phase));
  }

  get yields(): boolean {
    if (this.#state.phase !== 'running' || this.alwaysOn || this.#spec.pinned) return false;
    return this.#deps.now() >= this.#staysUntilMs && this.#deps.gateways.isUnused(this.#spec.modelId);
  }

  granted(): void {
    this.#launchedAtMs = this.#deps.now();
    this.#replicas = [];
    this.#driver = this.#createDriver();
    this.#driver.launch(false);
  }

  refused(reason: string): void {
    this.dispatch({ type: 'down', reason, watching: false });
  }

  giveWay(): void {
    this.dispatch({ type: 'idle' });
  }

  get orgId(): string {
    return this.#spec.orgId;
  }

  /** How many of its replicas can be called. Null: it does not run, or there is only one. */
  get replicaCount(): { readonly up: number; readonly total: number } | null {
    if (this.condition !== 'running' || this.#replicaTotal < 2) return null;
    return { up: this.#replicas.length, total: this.#replicaTotal };
  }

  /** Takes over the model, by its row and by what still runs. Call it once, first. */
  async begin(persisted: PersistedCondition): Promise<void> {
    this.#persisted = persisted;
    const leftBehind = await this.#driver.leftBehind();
    if (this.#ending.signal.aborted) return;
    const { state, effects } = takeOver(persisted.condition, persisted.reason, this.#spec.mode, leftBehind);
    this.#state = state;
    if (leftBehind !== 'nothing' && leftBehind !== 'remote') this.#deps.room.hold(this);
    if (state.phase === 'running') this.#driver.launch(true);
    this.#announce();
    for (const effect of effects) this.#run(effect);
  }

  /**
   * Takes over changed settings. Requests in flight end as they began. Servers at URLs are looked
   * for at once. Until the first of them can be called, the model stays as it is. A process goes on
   * as it was started; its next start is as changed.
   */
  change(spec: ModelSpec): void {
    if (spec.version <= this.#spec.version) return;
    const before = this.#spec;
    this.#spec = spec;
    this.#logger.info({ version: spec.version }, 'a model is changed');
    const isProcess = before.driver.driver === 'process';
    if (!isProcess && WATCHED.has(this.#state.phase)) {
      this.#driver.release();
      this.#driver = this.#createDriver();
      this.#driver.launch(false);
    }
    this.#announce();
    // What made it fail may be mended.
    if (this.condition === 'failed' && spec.mode === 'always_on' && !WATCHED.has(this.#state.phase))
      this.dispatch({ type: 'start' });
  }

  dispatch(event: Event): void {
    if (this.#ending.signal.aborted) return;
    const before = this.#state;
    const { state, effects } = step(before, event, this.#spec.mode);
    if (state === before) return;
    this.#state = state;
    if (state.phase !== before.phase) {
      clearTimeout(this.#phaseTimer);
      this.#logger.info({ from: before.phase, to: state.phase, on: event.type }, 'a model changes phase');
      this.#countStart(before, state);
      if (state.phase !== 'launching') this.#deps.room.withdraw(this);
      if (state.phase === 'stopped') this.#deps.room.release(this, this.#deps.now());
    }
    this.#announce();
    for (const effect of effects) this.#run(effect);
    if (this.#isSettled()) this.#waiters.release();
  }

  /**
   * Wakes the model if possible, and waits until it runs or will not run. Null: aborted before
   * that. `busy`: too many callers are waiting.
   * @param requestId of the request that asks, for the log
   */
  async wake(signal: AbortSignal, requestId?: string): Promise<ModelStatus | 'busy' | null> {
    this.#lastUsedMs = this.#deps.now();
    if (this.condition === 'asleep' || this.condition === 'failed') {
      this.#logger.info({ requestId }, 'a request wakes a model');
      this.dispatch({ type: 'wake' });
    }
    if (this.#isSettled()) return this.status();
    const waiting = this.#waiters.wait(signal);
    if (!waiting) return 'busy';
    await waiting;
    return this.#isSettled() ? this.status() : null;
  }

  /** Notes that the model is in use. */
  touch(): void {
    this.#lastUsedMs = this.#deps.now();
  }

  /** Starts putting the model to sleep if it has been idle long enough. */
  sleepIfIdle(): void {
    if (this.#deps.room.isWaiting(this) && this.#waiters.size === 0) {
      const unusedMs = this.#deps.now() - this.#lastUsedMs;
      if (unusedMs >= this.#deps.timings.room.turnMs) this.dispatch({ type: 'unwanted' });
    }
    if (this.#state.phase !== 'running' || this.#spec.mode !== 'wake_on_request') return;
    if (this.#deps.now() - this.#lastUsedMs < this.#spec.sleepAfterMs) return;
    if (this.#deps.gateways.isUnused(this.#spec.modelId)) this.dispatch({ type: 'idle' });
  }

  /**
   * Removes a deleted model from the catalog before this call returns, then ends it. Never rejects.
   */
  async remove(): Promise<void> {
    this.#deps.catalog.remove(this.#spec.modelId);
    this.#end();
    try {
      await this.#driver.halt();
      this.#deps.room.release(this, this.#deps.now());
      await this.#driver.forget();
    } catch (err) {
      this.#logger.error({ err }, 'a deleted model could not be ended and removed');
    }
  }

  /**
   * Lets go of the model because the runner ends. Its process is left for the next runner, unless
   * `stopProcess`. Never rejects.
   */
  async release(stopProcess: boolean): Promise<void> {
    this.#end();
    this.#driver.release();
    if (!stopProcess || !this.isProcess) return;
    await this.#driver.halt().catch((err) => this.#logger.error({ err }, 'a model could not be ended'));
  }

  #end(): void {
    this.#ending.abort();
    clearTimeout(this.#phaseTimer);
    this.#drain?.abort();
    this.#deps.room.withdraw(this);
    this.#waiters.release();
  }

  #createDriver(): Driver {
    const driver = this.#deps.createDriver(this.#spec, (report) => {
      if (driver === this.#driver && !this.#ending.signal.aborted) this.#take(report);
    });
    return driver;
  }

  #take(report: DriverReport): void {
    if (report.type === 'down') {
      const { type, reason, printed, watching } = report;
      this.#logger.warn({ reason }, 'a model is down');
      this.dispatch({ type, reason: printed ? `${reason}\n${printed}` : reason, watching });
      return;
    }
    if (report.type === 'restarting') {
      this.dispatch(report);
      return;
    }
    this.#replicas = report.replicas;
    this.#replicaTotal = report.total ?? report.replicas.length;
    if (this.#state.phase === 'running') this.#announce();
    else this.dispatch({ type: 'up' });
  }

  #run(effect: Effect): void {
    switch (effect.type) {
      case 'launch':
        this.#launch();
        break;
      case 'halt':
        void this.#halt();
        break;
      case 'drain':
        void this.#drainThenSleep();
        break;
      case 'end_drain':
        this.#drain?.abort();
        break;
      case 'await_steady':
        this.#afterPhase(this.#deps.timings.steadyMs, { type: 'steady' });
        break;
      case 'back_off':
        this.#afterPhase(effect.delayMs * this.#deps.timings.backoffFactor, { type: 'backoff_over' });
        break;
    }
  }

  #launch(): void {
    this.#launchedAtMs = 0;
    this.#deps.room.ask(this, this.#deps.now());
  }

  /** Halts the driver, and tries again until nothing is left: no start may meet remains. */
  async #halt(): Promise<void> {
    for (let failures = 1; !this.#ending.signal.aborted; failures++) {
      try {
        await this.#driver.halt();
        if (this.leaving) this.#deps.room.release(this, this.#deps.now());
        this.dispatch({ type: 'halted' });
        return;
      } catch (err) {
        const retryMs = haltBackoffMs(failures) * this.#deps.timings.backoffFactor;
        this.#logger.error({ err, retryMs }, 'a model could not be ended and may still run: trying again');
        await pause(retryMs, this.#ending.signal);
      }
    }
  }

  async #drainThenSleep(): Promise<void> {
    const drain = new AbortController();
    this.#drain = drain;
    const { gateways, timings } = this.#deps;
    const drained = await gateways.drained(this.#spec.modelId, this.#revision, timings.drainMs, drain.signal);
    if (drain.signal.aborted) return;
    if (!drained) {
      this.touch();
      this.#staysUntilMs = Math.max(this.#staysUntilMs, this.#lastUsedMs + timings.drainMs);
    }
    this.#deps.metrics.sleeps.inc({ result: drained ? 'asleep' : 'called_off' });
    this.dispatch({ type: drained ? 'drained' : 'called_off' });
  }

  #afterPhase(delayMs: number, event: Event): void {
    clearTimeout(this.#phaseTimer);
    this.#phaseTimer = setTimeout(() => this.dispatch(event), delayMs);
  }

  #announce(): void {
    this.#revision = this.#deps.catalog.put(catalogEntry(this.#spec, this.#state, this.#replicas));
    const { condition, reason } = this.status();
    if (this.#persisted?.condition === condition && this.#persisted.reason === reason) return;
    this.#persisted = { condition, reason };
    this.#deps.writer.write(this.#spec.modelId, { condition, reason, atMs: this.#deps.now() });
  }

  #isSettled(): boolean {
    return this.condition !== 'starting' && this.condition !== 'asleep';
  }

  #countStart(before: State, after: State): void {
    const { metrics, now } = this.#deps;
    if (after.phase === 'running') this.#lastUsedMs = now();
    if (before.phase !== 'launching' || !this.#launchedAtMs) return;
    if (after.phase === 'running') this.#staysUntilMs = now() + this.#deps.timings.minimumStayMs;
    if (after.phase === 'running') metrics.startSeconds.observe((now() - this.#launchedAtMs) / 1_000);
    const result = after.phase === 'running' ? 'running' : after.reason ? 'failed' : 'stopped';
    metrics.starts.inc({ result });
  }
}
