import { type Occupant, Room, type RoomTimings } from '../room/room.ts';

export const ROOM_TIMINGS: RoomTimings = { patienceMs: 10, maxFirstMs: 60 };
export const STAY_MS = 30;
/** How long a model takes to end once its gateways have let go of it. */
const END_MS = 2;

interface At {
  readonly atMs: number;
}

/** What happens in a pool. A model is given by its number. Time passes in ticks. */
export interface World {
  readonly capacity: number;
  /** How long gateways take to let go of a model. */
  readonly drainMs?: number;
  readonly models: readonly Pick<Occupant, 'cost' | 'alwaysOn' | 'pinned'>[];
  /** A model is asked for, and used for this long if it runs. */
  readonly arrivals: readonly (At & { readonly model: number; readonly forMs: number })[];
  /** Models are stopped or deleted, and some take long to end. */
  readonly stops?: readonly (At & { readonly model: number; readonly endsAfterMs: number })[];
  readonly resizes?: readonly (At & { readonly capacity: number | null })[];
  readonly recosts?: readonly (At & { readonly model: number; readonly cost: number })[];
  /** Always-on models end by themselves, and start again. */
  readonly crashes?: readonly (At & { readonly model: number })[];
}

/** A model of the world. It is used for a while when it has started, and then idle. */
export class WorldModel implements Occupant {
  phase: 'asleep' | 'running' | 'draining' | 'leaving' | 'refused' = 'asleep';
  /** What it took when it started. */
  held = 0;
  lastUsedMs = 0;
  /** Since when it has been waiting. */
  askedMs: number | null = null;
  cost: number;
  readonly modelId: string;
  readonly orgId = 'org_1';
  readonly alwaysOn: boolean;
  readonly pinned: boolean;
  readonly #pool: PoolWorld;
  #busyUntilMs = 0;
  #staysUntilMs = 0;
  #phaseEndsMs = 0;
  /** How long those that wait for it will use it. */
  #awaitedForMs = 0;

  constructor(pool: PoolWorld, modelId: string, { cost, alwaysOn, pinned }: World['models'][number]) {
    this.#pool = pool;
    this.modelId = modelId;
    this.cost = cost;
    this.alwaysOn = alwaysOn;
    this.pinned = pinned;
  }

  get leaving(): boolean {
    return this.phase === 'leaving' || this.phase === 'draining';
  }
  get yields(): boolean {
    if (this.phase !== 'running' || this.alwaysOn || this.pinned) return false;
    return this.#pool.nowMs >= Math.max(this.#busyUntilMs, this.#staysUntilMs);
  }
  granted(): void {
    this.phase = 'running';
    this.askedMs = null;
    if (this.held === 0) {
      this.held = this.cost;
      if (this.#pool.held > (this.#pool.capacity ?? Number.POSITIVE_INFINITY))
        throw new Error(`${this.modelId} started beyond the capacity`);
    }
    this.#use(this.#awaitedForMs);
    this.#staysUntilMs = this.#pool.nowMs + STAY_MS;
  }
  refused(): void {
    this.phase = 'refused';
    this.askedMs = null;
  }
  giveWay(): void {
    if (!this.yields) throw new Error(`${this.modelId} was in use`);
    this.phase = 'draining';
    this.#phaseEndsMs = this.#pool.nowMs + this.#pool.drainMs;
  }

  arrive(forMs: number): void {
    const { nowMs, drainMs, room } = this.#pool;
    if (this.phase === 'draining') {
      this.phase = 'running';
      this.#staysUntilMs = Math.max(this.#staysUntilMs, nowMs + drainMs);
    }
    if (this.phase === 'running') this.#use(forMs);
    if (this.phase !== 'asleep') return;
    this.#awaitedForMs = this.askedMs === null ? forMs : Math.max(this.#awaitedForMs, forMs);
    if (this.askedMs !== null) return;
    this.askedMs = nowMs;
    room.ask(this, nowMs);
  }

  stop(endsAfterMs: number): void {
    if (this.phase === 'running' || this.phase === 'draining') this.#leave(endsAfterMs);
    this.#pool.room.stopWaiting(this);
    this.askedMs = null;
  }

  crash(): void {
    if (!this.alwaysOn || this.phase !== 'running') return;
    this.phase = 'asleep';
    if (this.cost !== this.held) this.#giveBack();
    this.arrive(0);
  }

  /** Continues what ends by itself. */
  tick(): void {
    if (this.#phaseEndsMs > this.#pool.nowMs) return;
    if (this.phase === 'draining') this.#leave(END_MS);
    else if (this.phase === 'leaving') {
      this.phase = 'asleep';
      this.#giveBack();
    }
  }

  #use(forMs: number): void {
    this.lastUsedMs = this.#pool.nowMs;
    this.#busyUntilMs = Math.max(this.#busyUntilMs, this.#pool.nowMs + forMs);
  }

  #leave(endsAfterMs: number): void {
    this.phase = 'leaving';
    this.#phaseEndsMs = this.#pool.nowMs + endsAfterMs;
  }

  #giveBack(): void {
    this.held = 0;
    this.#pool.room.release(this, this.#pool.nowMs);
  }
}

/**
 * A pool in a world of ticks. It throws when a model in use gives way, or when one too many starts.
 */
export class PoolWorld {
  readonly room = new Room(ROOM_TIMINGS);
  readonly models: readonly WorldModel[];
  readonly drainMs: number;
  readonly #world: World;
  nowMs = 0;
  capacity: number | null;

  constructor(world: World) {
    this.#world = world;
    this.capacity = world.capacity;
    this.drainMs = world.drainMs ?? 1;
    this.models = world.models.map((one, i) => new WorldModel(this, `m${i}`, one));
    this.room.resize(world.capacity, 0);
  }

  /** What its models take. */
  get held(): number {
    return this.models.reduce((sum, { held }) => sum + held, 0);
  }

  /** What is held by those that keep it until their owner stops them. */
  heldBy(which: 'alwaysOn' | 'pinned'): number {
    return this.models
      .filter((model) => model[which] && model.phase === 'running')
      .reduce((sum, { held }) => sum + held, 0);
  }

  /** @param check sees the world after each tick */
  run(untilMs: number, check: (pool: this) => void = () => {}): this {
    const { arrivals, stops = [], resizes = [], recosts = [], crashes = [] } = this.#world;
    const nth = (model: number) => this.models[model % this.models.length] as WorldModel;
    const arrivalsAt = byTime(arrivals);
    for (; this.nowMs <= untilMs; this.nowMs++) {
      const now = ({ atMs }: At) => atMs === this.nowMs;
      for (const { model, endsAfterMs } of stops.filter(now)) nth(model).stop(endsAfterMs);
      for (const { capacity } of resizes.filter(now)) {
        this.capacity = capacity;
        this.room.resize(capacity, this.nowMs);
      }
      for (const { model, cost } of recosts.filter(now)) nth(model).cost = cost;
      for (const { model } of crashes.filter(now)) nth(model).crash();
      for (const model of this.models) model.tick();
      for (const { model, forMs } of arrivalsAt.get(this.nowMs) ?? []) nth(model).arrive(forMs);
      this.room.share(this.nowMs);
      check(this);
    }
    return this;
  }
}

function byTime<T extends At>(all: readonly T[]): Map<number, T[]> {
  const found = new Map<number, T[]>();
  for (const one of all) found.set(one.atMs, [...(found.get(one.atMs) ?? []), one]);
  return found;
}
