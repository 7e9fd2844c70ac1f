import type { Logger } from '@tidegate/runtime';
import type { ModelSpec } from '../catalog/spec.ts';
import { type Event, isEnding, type State } from '../condition/machine.ts';
import { WAITS_FOR_LAST_RUN } from '../drivers/driver.ts';
import type { Occupant, Room } from '../room/room.ts';
import type { Gateways } from '../watch/gateways.ts';
import type { ModelDriver } from './model-driver.ts';
import type { Times } from './times.ts';

interface OccupancyDeps {
  readonly room: Room;
  readonly gateways: Gateways;
  readonly times: Times;
  readonly driver: ModelDriver;
  readonly monotonicMs: () => number;
  /** The model as it is at the moment. */
  readonly current: () => { readonly spec: ModelSpec; readonly state: State };
  readonly dispatch: (event: Event) => void;
  /** Announces the reason why it waits, or that there is none any more. */
  readonly announce: () => void;
  readonly logger: Logger;
}

/** One model's share of its pool's room: asks for it, holds it and gives it back. */
export class Occupancy implements Occupant {
  readonly #deps: OccupancyDeps;
  #waitsFor = '';
  /** True while the room is held only in case the model still runs. */
  #isAssumed = false;

  constructor(deps: OccupancyDeps) {
    this.#deps = deps;
  }

  get modelId(): string {
    return this.#deps.current().spec.modelId;
  }

  get orgId(): string {
    return this.#deps.current().spec.orgId;
  }

  get cost(): number {
    return this.#deps.current().spec.cost;
  }

  get alwaysOn(): boolean {
    return this.#deps.current().spec.mode === 'always_on';
  }

  get pinned(): boolean {
    return this.#deps.current().spec.pinned;
  }

  get lastUsedMs(): number {
    return this.#deps.times.lastUsedMs;
  }

  /** An always-on model keeps its room until it is stopped. */
  get leaving(): boolean {
    const { state } = this.#deps.current();
    return state.phase === 'stopping' || (!this.alwaysOn && isEnding(state));
  }

  get yields(): boolean {
    const { spec, state } = this.#deps.current();
    if (state.phase !== 'running' || this.alwaysOn || this.pinned) return false;
    return this.#deps.times.mayLeave && this.#deps.gateways.isUnused(spec.modelId);
  }

  granted(): void {
    const waited = this.#waitsFor !== '';
    this.#waitsFor = '';
    this.#deps.times.launch();
    if (waited) this.#deps.announce();
    this.#deps.driver.launch();
  }

  refused(reason: string): void {
    this.#deps.dispatch({ type: 'down', reason, watching: false });
  }

  giveWay(): void {
    this.#deps.dispatch({ type: 'idle' });
  }

  get isWaiting(): boolean {
    return this.#deps.room.isWaiting(this);
  }

  /** Why it does not start yet. Empty: it does not wait, or not for long. */
  get waitsFor(): string {
    return this.isWaiting || this.#isRelaunching ? this.#waitsFor : '';
  }

  /**
   * Announces why the model waits, once for as long as that stays true. Called only now and then,
   * because most waits are over in a moment.
   */
  explainWait(): void {
    const { driver } = this.#deps.current().spec.driver;
    const why = this.#isRelaunching ? WAITS_FOR_LAST_RUN[driver] : this.#wantedRoom();
    if (why === '' || why === this.#waitsFor) return;
    this.#waitsFor = why;
    this.#deps.announce();
  }

  /** Its last run must end before it starts. */
  get #isRelaunching(): boolean {
    return this.#deps.current().state.phase === 'relaunching';
  }

  /** Empty: it does not wait for room. */
  #wantedRoom(): string {
    const { room, logger } = this.#deps;
    const use = room.use();
    if (!this.isWaiting || use === null) return '';
    const { capacity, used } = use;
    const { cost } = this;
    if (this.#waitsFor === '') logger.info({ capacity, used, cost }, 'a model waits for room in its pool');
    // Only the log says how full the pool is: that is about other organizations' models, too.
    const leaving = room.hasLeaving(this.orgId) ? ' A model that is ending still holds room there.' : '';
    return `Waiting for room in its pool: it needs ${cost} of ${capacity}.${leaving}`;
  }

  /** Asks for room, and launches the driver when there is some. */
  ask(): void {
    this.#waitsFor = '';
    this.#deps.times.awaitRoom();
    this.#deps.room.ask(this, this.#deps.monotonicMs());
  }

  /** Notes that the model has room, because it runs already or, if that is assumed, may run. */
  hold(isAssumed: boolean): void {
    this.#isAssumed = isAssumed;
    this.#deps.room.hold(this);
  }

  /** The model does run, so it keeps its room. */
  keep(): void {
    this.#isAssumed = false;
  }

  /** The model does not run, so it gives back room that was held only in case it did. */
  giveUpAssumed(): void {
    if (this.#isAssumed) this.release();
  }

  /** Gives up waiting. */
  stopWaiting(): void {
    this.#waitsFor = '';
    this.#deps.room.stopWaiting(this);
  }

  /**
   * Gives back the room of a model that has ended, unless the room is for its next start. An
   * always-on model keeps it for that, unless it is stopped or its cost has changed.
   */
  end(): void {
    if (this.leaving || this.cost !== this.#deps.room.heldBy(this)) this.release();
  }

  /** Gives back the room that the model has. */
  release(): void {
    this.#isAssumed = false;
    this.#deps.room.release(this, this.#deps.monotonicMs());
  }
}
