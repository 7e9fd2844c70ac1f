import { isDeepStrictEqual } from 'node:util';
import type { Condition } from '@tidegate/contracts';
import type { Logger } from '@tidegate/runtime';
import type { CatalogSource } from '../catalog/catalog.ts';
import type { ConditionWriter } from '../catalog/condition-writer.ts';
import type { ModelSpec, PersistedCondition } from '../catalog/spec.ts';
import type { Clocks } from '../clocks.ts';
import { conditionOf, type Event, type State, step, takeOver } from '../condition/machine.ts';
import type { DriverReport, IsTaken, LeftBehind } from '../drivers/driver.ts';
import type { RunnerMetrics } from '../metrics.ts';
import type { Room } from '../room/room.ts';
import type { Gateways } from '../watch/gateways.ts';
import { Announcer } from './announcer.ts';
import { catalogEntry } from './catalog-entry.ts';
import { Effects } from './effects.ts';
import { type CreateDriver, ModelDriver } from './model-driver.ts';
import type { ModelStatus, ReplicaCount } from './model-status.ts';
import { Occupancy } from './occupancy.ts';
import { Times } from './times.ts';
import type { FleetTimings } from './timings.ts';
import { Waiters } from './waiters.ts';

export interface SupervisorDeps extends Clocks {
  readonly catalog: CatalogSource;
  readonly gateways: Gateways;
  readonly writer: ConditionWriter;
  readonly timings: FleetTimings;
  /** What the pool's models share. */
  readonly room: Room;
  readonly logger: Logger;
  readonly metrics: RunnerMetrics;
  readonly createDriver: CreateDriver;
}

/** The most callers that may wait for one model's start. */
const MAX_WAITERS = 20_000;

/**
 * Owns one model. Feeds events to its state machine, has the effects carried out, and announces the
 * resulting state.
 */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #logger: Logger;
  readonly #waiters = new Waiters(MAX_WAITERS);
  readonly #announcer: Announcer;
  readonly #times: Times;
  readonly #driver: ModelDriver;
  readonly #occupancy: Occupancy;
  readonly #effects: Effects;
  #spec: ModelSpec;
  #ended = false;
  #state: State = { phase: 'stopped', reason: '', failures: 0, crashed: false };

  constructor(spec: ModelSpec, deps: SupervisorDeps) {
    this.#spec = spec;
    this.#deps = deps;
    const { modelId, orgId, name: model } = spec;
    this.#logger = deps.logger.child({ modelId, orgId, model });
    this.#announcer = new Announcer(deps);
    this.#times = new Times(deps);
    this.#driver = new ModelDriver(spec, deps.createDriver, (report) => this.#take(report));
    const parts = {
      ...deps,
      driver: this.#driver,
      times: this.#times,
      announcer: this.#announcer,
      logger: this.#logger,
      dispatch: (event: Event) => this.dispatch(event),
    };
    this.#occupancy = new Occupancy({
      ...parts,
      current: () => ({ spec: this.#spec, state: this.#state }),
      announce: () => this.#announce(),
    });
    this.#effects = new Effects({ ...parts, occupancy: this.#occupancy });
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
    const { modelId, condition } = this;
    const starting = condition === 'starting' ? this.#occupancy.waitsFor || this.#driver.waitsFor : '';
    return { modelId, condition, reason: this.#state.reason || starting, revision: this.#announcer.revision };
  }

  get modelId(): string {
    return this.#spec.modelId;
  }

  get orgId(): string {
    return this.#spec.orgId;
  }

  /** How many replicas there are, including those that cannot be called. 0: it does not run. */
  get allReplicas(): number {
    return this.condition === 'running' ? this.#driver.total : 0;
  }

  /** How many of its replicas can be called. Null: it does not run, or there is only one. */
  get replicaCount(): ReplicaCount | null {
    const { replicas, down } = this.#driver;
    const total = this.allReplicas;
    return total > 1 ? { up: replicas.length, total, down } : null;
  }

  /**
   * Looks for what is left of an earlier run. If something is left, or that is unknown, the model
   * holds its room. Call this once, before anything else.
   */
  async look(withinMs: number): Promise<LeftBehind> {
    const found = await this.#driver.leftBehind(withinMs);
    if (!this.#ended && found !== 'nothing' && found !== 'remote') this.#occupancy.hold(found === 'unknown');
    return found;
  }

  /**
   * Takes over the model, going by its row and by what was found. Call this once, after `look` has
   * resolved for all models that are taken over together: it may ask for room.
   */
  begin(persisted: PersistedCondition, found: LeftBehind): void {
    if (this.#ended) return;
    const { state, effects } = takeOver(persisted.condition, persisted.reason, this.#spec.mode, found);
    this.#announcer.begin(persisted);
    this.#state = state;
    if (state.phase === 'running') {
      this.#times.resume(persisted.atMs);
      this.#driver.resume();
    }
    this.#announce();
    if (found === 'unknown' && state.phase === 'launching') this.#driver.find();
    else for (const effect of effects) this.#effects.run(effect);
  }

  /**
   * Takes over changed settings. Requests in flight end as they began. For the others, see
   * `ModelDriver.change`.
   */
  change(spec: ModelSpec): void {
    const before = this.#spec;
    if (spec.version <= before.version) return;
    this.#spec = spec;
    this.#logger.info({ version: spec.version }, 'a model was changed');
    this.#driver.change(spec);
    this.#announce();
    if (this.condition !== 'failed') return;
    // What made it fail may be fixed. A process that cannot be called need not stay as it is.
    const isOutdated = this.isProcess && !isDeepStrictEqual(before.driver, spec.driver);
    if (this.#driver.isLaunched ? isOutdated : spec.mode === 'always_on') this.dispatch({ type: 'start' });
  }

  dispatch(event: Event): void {
    if (this.#ended) return;
    // Whoever starts it wants to use it, so it may wait for room as long as a model that was just
    // used.
    if (event.type === 'start') this.#times.use();
    const before = this.#state;
    const { state, effects } = step(before, event, this.#spec.mode);
    if (state === before) return;
    this.#state = state;
    if (state.phase !== before.phase) {
      this.#effects.leavePhase();
      this.#logger.info({ from: before.phase, to: state.phase, on: event.type }, 'a model changes phase');
      this.#times.changePhase(before, state);
      if (state.phase !== 'launching') this.#occupancy.stopWaiting();
      if (state.phase === 'stopped') this.#occupancy.release();
    }
    if (event.type === 'halted') this.#occupancy.giveUpAssumed();
    if (event.type === 'up') this.#occupancy.keep();
    this.#announce();
    for (const effect of effects) this.#effects.run(effect);
    if (this.#isDecided()) this.#waiters.release();
  }

  /**
   * Wakes the model if possible, and waits until it runs or will not run. Null: aborted before
   * that. `busy`: too many callers are waiting.
   * @param requestId of the request that asks, for the log
   */
  async wake(signal: AbortSignal, requestId?: string): Promise<ModelStatus | 'busy' | null> {
    this.#times.use();
    if (this.condition === 'asleep' || this.condition === 'failed') {
      this.#logger.info({ requestId }, 'a request wakes a model');
      this.dispatch({ type: 'wake' });
    }
    if (this.#isDecided()) return this.status();
    const waiting = this.#waiters.wait(signal);
    if (!waiting) return 'busy';
    await waiting;
    return this.#isDecided() && !this.#ended ? this.status() : null;
  }

  /** Notes that the model is in use. */
  touch(): void {
    this.#times.use();
  }

  /**
   * Starts putting the model to sleep if it has been idle long enough. Also announces why the model
   * waits to start, and ends its wait for room if nobody has wanted it for a while.
   */
  sleepIfIdle(): void {
    const { maxFirstMs } = this.#deps.timings.room;
    if (this.#occupancy.isWaiting && this.#waiters.size === 0 && this.#times.unusedMs >= maxFirstMs)
      this.dispatch({ type: 'unwanted' });
    this.#occupancy.explainWait();
    if (this.#state.phase !== 'running' || this.#spec.mode !== 'wake_on_request') return;
    if (this.#times.unusedMs < this.#spec.sleepAfterMs) return;
    if (this.#deps.gateways.isUnused(this.modelId)) this.dispatch({ type: 'idle' });
  }

  /**
   * Removes a deleted model from the catalog before this call returns, then ends it. Never rejects.
   */
  async remove(runnerEnding: AbortSignal, isTaken: IsTaken): Promise<void> {
    this.#deps.catalog.remove(this.modelId);
    this.#end();
    // It still has its room, but no longer gives way to others.
    this.#state = { ...this.#state, phase: 'stopping', reason: '' };
    await this.#effects
      .endDeleted(runnerEnding, isTaken)
      .catch((err) => this.#logger.error({ err }, 'the files of a deleted model could not be removed'));
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
    this.#ended = true;
    this.#effects.end();
    this.#occupancy.stopWaiting();
    this.#waiters.release();
  }

  #take(report: DriverReport): void {
    if (this.#ended) return;
    if (report.type === 'down') {
      const { type, reason, printed, watching } = report;
      this.#logger.warn({ reason }, 'a model is down');
      this.dispatch({ type, reason: printed ? `${reason}\n${printed}` : reason, watching });
      return;
    }
    if (report.type === 'waiting') {
      if (this.condition === 'starting') this.#announce();
      return;
    }
    if (report.type === 'restarting') {
      this.dispatch(report);
      return;
    }
    if (report.type === 'off') {
      this.#handleOff();
      return;
    }
    if (this.#state.phase === 'running') this.#announce();
    else this.dispatch({ type: 'up' });
  }

  /** The model turned out not to run, so it gives up the room that was kept for it. */
  #handleOff(): void {
    this.#occupancy.release();
    if (this.#state.phase !== 'launching') this.dispatch({ type: 'restarting' });
    else if (this.#spec.mode === 'always_on' || this.#waiters.size > 0) this.#occupancy.ask();
    else this.dispatch({ type: 'unwanted' });
  }

  #announce(): void {
    const status = this.status();
    const state = { ...this.#state, reason: status.reason };
    this.#announcer.announce(catalogEntry(this.#spec, state, this.#driver), status);
  }

  /** Whether the model runs, or will not run as things stand. */
  #isDecided(): boolean {
    return this.condition !== 'starting' && this.condition !== 'asleep';
  }
}
