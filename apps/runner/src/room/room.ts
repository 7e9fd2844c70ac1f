import { decide, type Holder } from './decide.ts';

/** A model of the pool, as far as sharing out room is concerned. */
export interface Occupant {
  readonly modelId: string;
  readonly orgId: string;
  /** What a start would take now. */
  readonly cost: number;
  readonly alwaysOn: boolean;
  readonly pinned: boolean;
  readonly leaving: boolean;
  readonly yields: boolean;
  readonly lastUsedMs: number;
  /** It has room now, and starts. */
  granted(): void;
  /** It can never have room. The reason is for users. */
  refused(reason: string): void;
  /** It is to go to sleep, if its gateways let go of it. */
  giveWay(): void;
}

/** How full a pool is. */
export interface RoomUse {
  readonly capacity: number;
  /** What is taken by models that run, start or are being ended. */
  readonly used: number;
  /** Models that wait until there is room. */
  readonly waiting: number;
}

export interface RoomTimings {
  /** See `decide`. */
  readonly patienceMs: number;
  /** After the others have waited this long for one model, it goes to the end of the queue. */
  readonly maxFirstMs: number;
}

/**
 * Shares out a pool's capacity. An occupant asks for room before it starts, and gives it back when
 * nothing of it runs any more. The room has no clock: callers say what time it is.
 */
export class Room {
  readonly #timings: RoomTimings;
  /** Each with the room that it holds. */
  readonly #holders = new Map<Occupant, number>();
  /** In order of arrival, with the time of arrival. */
  readonly #waiting = new Map<Occupant, number>();
  /** The model that the others wait for, and since when. It may have started meanwhile. */
  #first: { readonly modelId: string; readonly sinceMs: number } | null = null;
  #capacity: number | null = null;
  #sharing = false;
  #again = false;
  #closed = false;

  constructor(timings: RoomTimings) {
    this.#timings = timings;
  }

  /** @param capacity null: there is room for everyone */
  resize(capacity: number | null, nowMs: number): void {
    this.#capacity = capacity;
    this.share(nowMs);
  }

  /** Null: the pool has no capacity, so nothing is counted. */
  use(): RoomUse | null {
    if (this.#capacity === null) return null;
    const used = [...this.#holders.values()].reduce((total, cost) => total + cost, 0);
    return { capacity: this.#capacity, used, waiting: this.#waiting.size };
  }

  /** Whether a model of that organization that is being ended still has room. */
  hasLeaving(organization: string): boolean {
    return [...this.#holders].some(
      ([{ orgId, leaving }, cost]) => orgId === organization && leaving && cost > 0,
    );
  }

  isWaiting(occupant: Occupant): boolean {
    return this.#waiting.has(occupant);
  }

  /**
   * Grants room, immediately or later, or refuses. An occupant that already has room gets it
   * granted immediately.
   */
  ask(occupant: Occupant, nowMs: number): void {
    if (this.#holders.has(occupant) || this.#capacity === null || occupant.cost === 0) {
      this.hold(occupant);
      occupant.granted();
      return;
    }
    if (!this.#waiting.has(occupant)) this.#waiting.set(occupant, nowMs);
    this.share(nowMs);
  }

  /** Notes that an occupant has room, because it runs already. */
  hold(occupant: Occupant): void {
    if (!this.#holders.has(occupant)) this.#holders.set(occupant, occupant.cost);
  }

  /**
   * What the occupant holds. It stays the same until it is given back, even if the cost changes.
   */
  heldBy(occupant: Occupant): number {
    return this.#holders.get(occupant) ?? 0;
  }

  /** Gives up waiting. */
  stopWaiting(occupant: Occupant): void {
    this.#waiting.delete(occupant);
  }

  /** Gives back what the occupant has. */
  release(occupant: Occupant, nowMs: number): void {
    this.stopWaiting(occupant);
    if (this.#holders.delete(occupant)) this.share(nowMs);
  }

  /** Starts nothing more. */
  close(): void {
    this.#closed = true;
    this.#waiting.clear();
  }

  /** Looks again at who can start. */
  share(nowMs: number): void {
    this.#again = true;
    if (this.#sharing) return;
    this.#sharing = true;
    try {
      while (this.#again && !this.#closed && this.#waiting.size > 0) {
        this.#again = false;
        this.#shareOnce(nowMs);
      }
    } finally {
      this.#sharing = false;
    }
  }

  #shareOnce(nowMs: number): void {
    const capacity = this.#capacity ?? Number.POSITIVE_INFINITY;
    this.#sendToBack(nowMs);
    const wanting = [...this.#waiting].map(([{ modelId, cost, alwaysOn }, sinceMs]) => ({
      modelId,
      cost,
      alwaysOn,
      waitedMs: nowMs - sinceMs,
    }));
    const occupants = [...this.#holders.keys(), ...this.#waiting.keys()];
    const byId = new Map(occupants.map((one) => [one.modelId, one]));
    const { start, sleep, refuse, first } = decide(
      capacity,
      [...this.#holders].map(holderOf),
      wanting,
      this.#timings.patienceMs,
    );
    if (first !== null && first !== this.#first?.modelId) this.#first = { modelId: first, sinceMs: nowMs };
    for (const modelId of [...start, ...refuse]) this.#waiting.delete(byId.get(modelId) as Occupant);
    for (const modelId of start) this.hold(byId.get(modelId) as Occupant);
    for (const modelId of refuse) {
      const occupant = byId.get(modelId) as Occupant;
      occupant.refused(this.#reason(occupant, capacity));
    }
    for (const modelId of sleep) byId.get(modelId)?.giveWay();
    for (const modelId of start) byId.get(modelId)?.granted();
  }

  /**
   * A model that has been first for too long goes to the back, so that those behind it get their
   * turn. Its time counts from when others began to wait for it, not from its arrival. Otherwise
   * that time could be over before it begins.
   */
  #sendToBack(nowMs: number): void {
    const first = this.#first;
    if (first === null || nowMs - first.sinceMs < this.#timings.maxFirstMs) return;
    this.#first = null;
    const occupant = [...this.#waiting.keys()].find(({ modelId }) => modelId === first.modelId);
    if (!occupant) return;
    this.#waiting.delete(occupant);
    this.#waiting.set(occupant, nowMs);
  }

  /**
   * Why a model has no room. The users of its organization read this. So it does not say how much
   * room always-on models take, because those may be other organizations'.
   */
  #reason({ cost }: Occupant, capacity: number): string {
    if (cost > capacity) return `It needs ${cost}, but its pool's capacity is ${capacity}.`;
    return `It needs ${cost} of its pool's ${capacity}, but always-on models leave less.`;
  }
}

const holderOf = ([occupant, cost]: [Occupant, number]): Holder => {
  const { modelId, alwaysOn, pinned, leaving, yields, lastUsedMs } = occupant;
  return { modelId, cost, alwaysOn, pinned, leaving, yields, lastUsedMs };
};
