import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decide, type Holder } from './decide.ts';
import { Room, type Tenant } from './room.ts';

const TIMINGS = { patienceMs: 10, maxFirstMs: 60 };
const STAY_MS = 30;

/** A model in a world of ticks. It is used for a while when it has started, and then idle. */
class Model implements Tenant {
  phase: 'asleep' | 'running' | 'leaving' | 'refused' = 'asleep';
  lastUsedMs = 0;
  busyUntilMs = 0;
  staysUntilMs = 0;
  endsAtMs = 0;
  askedMs: number | null = null;
  nowMs = 0;

  constructor(
    readonly modelId: string,
    readonly cost: number,
    readonly alwaysOn: boolean,
    readonly pinned: boolean,
    readonly started: string[],
  ) {}

  get leaving(): boolean {
    return this.phase === 'leaving';
  }
  get yields(): boolean {
    if (this.phase !== 'running' || this.alwaysOn || this.pinned) return false;
    return this.nowMs >= this.busyUntilMs && this.nowMs >= this.staysUntilMs;
  }
  granted(): void {
    this.started.push(this.modelId);
    this.phase = 'running';
    this.askedMs = null;
    this.use(0);
    this.staysUntilMs = this.nowMs + STAY_MS;
  }
  use(forMs: number): void {
    this.lastUsedMs = this.nowMs;
    this.busyUntilMs = Math.max(this.busyUntilMs, this.nowMs + forMs);
  }
  refused(): void {
    this.phase = 'refused';
    this.askedMs = null;
  }
  giveWay(): void {
    if (!this.yields) throw new Error(`${this.modelId} was in use`);
    this.leave(3);
  }
  leave(endsAfterMs: number): void {
    this.phase = 'leaving';
    this.endsAtMs = this.nowMs + endsAfterMs;
  }
}

const shape = fc.record({
  capacity: fc.integer({ min: 1, max: 12 }),
  models: fc.array(
    fc.record({
      cost: fc.integer({ min: 1, max: 12 }),
      alwaysOn: fc.boolean(),
      pinned: fc.constant<boolean>(false),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  arrivals: fc.array(
    fc.record({
      atMs: fc.integer({ min: 0, max: 300 }),
      model: fc.nat(5),
      forMs: fc.integer({ min: 0, max: 15 }),
    }),
    { maxLength: 60 },
  ),
  // Models are stopped or deleted, and some take long to end.
  stops: fc.array(
    fc.record({
      atMs: fc.integer({ min: 0, max: 300 }),
      model: fc.nat(5),
      endsAfterMs: fc.integer({ min: 1, max: 40 }),
    }),
    { maxLength: 12 },
  ),
});
type World = typeof shape extends fc.Arbitrary<infer T> ? T : never;

/** Runs a world. `check` sees it after each tick. */
function run(
  { capacity, models, arrivals, stops }: World,
  check: (all: readonly Model[], nowMs: number) => void,
  untilMs: number,
): Model[] {
  const room = new Room(TIMINGS);
  const started: string[] = [];
  const all = models.map((one, i) => new Model(`m${i}`, one.cost, one.alwaysOn, one.pinned, started));
  const arrivalsAt = new Map<number, typeof arrivals>();
  for (const one of arrivals) {
    const together = arrivalsAt.get(one.atMs);
    if (together) together.push(one);
    else arrivalsAt.set(one.atMs, [one]);
  }
  room.resize(capacity, 0);
  for (let nowMs = 0; nowMs <= untilMs; nowMs++) {
    for (const model of all) model.nowMs = nowMs;
    for (const model of all) {
      if (model.phase !== 'leaving' || model.endsAtMs > nowMs) continue;
      model.phase = 'asleep';
      room.release(model, nowMs);
    }
    for (const { model: at, endsAfterMs } of stops.filter(({ atMs }) => atMs === nowMs)) {
      const model = all[at % all.length] as Model;
      if (model.phase === 'running') model.leave(endsAfterMs);
      room.stopWaiting(model);
      model.askedMs = null;
    }
    for (const { model: at, forMs } of arrivalsAt.get(nowMs) ?? []) {
      const model = all[at % all.length] as Model;
      if (model.phase === 'refused') continue;
      if (model.phase === 'running') model.use(forMs);
      else if (model.phase === 'asleep' && model.askedMs === null) {
        model.askedMs = nowMs;
        room.ask(model, nowMs);
      }
    }
    room.share(nowMs);
    check(all, nowMs);
  }
  return all;
}

describe('the room of a pool', () => {
  it('is never exceeded, and no model in use gives way, whoever arrives when', () => {
    fc.assert(
      fc.property(shape, (world) => {
        const check = (all: readonly Model[]) => {
          const held = all.filter(({ phase }) => phase === 'running' || phase === 'leaving');
          expect(held.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(world.capacity);
        };
        run(world, check, 320);
      }),
      { numRuns: 50 },
    );
  });

  it('goes to every waiting model within a bounded time after the last arrival', () => {
    fc.assert(
      fc.property(shape, (world) => {
        const all = run(world, () => {}, 300 + 8 * (STAY_MS + 15 + TIMINGS.maxFirstMs));
        expect(all.filter(({ askedMs }) => askedMs !== null)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it('is refused only to a model that can never fit beside the always-on models', () => {
    fc.assert(
      fc.property(shape, (world) => {
        const refused = new Set<Model>();
        const check = (all: readonly Model[]) => {
          const staying = all.filter(({ alwaysOn, phase }) => alwaysOn && phase === 'running');
          const left = world.capacity - staying.reduce((sum, { cost }) => sum + cost, 0);
          for (const model of all.filter((one) => one.phase === 'refused' && !refused.has(one))) {
            expect(model.cost).toBeGreaterThan(left);
            refused.add(model);
          }
        };
        run(world, check, 320);
      }),
      { numRuns: 300 },
    );
  });

  it('comes to a large model that small ones would starve, however often they are used', () => {
    const small = { cost: 4, alwaysOn: false, pinned: false };
    const models = [{ ...small, cost: 8 }, small, small];
    // One of the small ones arrives every 7 ticks, and is used for 2.
    const arrivals = Array.from({ length: 100 }, (_one, i) => ({
      atMs: 7 * i,
      model: 1 + (i % 2),
      forMs: 2,
    }));
    let ranAtMs = 0;
    run(
      { capacity: 8, models, arrivals: [...arrivals, { atMs: 20, model: 0, forMs: 0 }], stops: [] },
      ([large], nowMs) => {
        if (large?.phase === 'running') ranAtMs ||= nowMs;
      },
      200,
    );
    expect(ranAtMs).toBeGreaterThan(0);
    expect(ranAtMs).toBeLessThan(20 + TIMINGS.maxFirstMs);
  });
});

/** Models that are used again and again, and are idle again within this time. */
const IDLE_WITHIN_MS = 12;
const LONG_MS = 2_000;

const users = fc.record({
  capacity: fc.constantFrom(11, 12),
  users: fc.array(
    fc.record({
      cost: fc.constantFrom(3, 4, 6, 11, 12),
      pinned: fc.boolean(),
      everyMs: fc.integer({ min: 2, max: IDLE_WITHIN_MS }),
      firstMs: fc.nat(IDLE_WITHIN_MS),
      used: fc.double({ min: 0.4, max: 0.9, noNaN: true }),
    }),
    { minLength: 3, maxLength: 5 },
  ),
});

describe('arrivals that never end', () => {
  it('never starve a model that can get room, however often the others are used', () => {
    fc.assert(
      fc.property(users, ({ capacity, users: all }) => {
        // A pinned model that runs first stays for ever, so there is room beside one at most.
        const models = all.map(({ cost, pinned }, i) => ({
          cost,
          pinned: pinned && i === 0,
          alwaysOn: false,
        }));
        const arrivals = all.flatMap(({ everyMs, firstMs, used }, model) =>
          Array.from({ length: Math.floor(LONG_MS / everyMs) }, (_one, i) => ({
            atMs: firstMs + i * everyMs,
            model,
            forMs: Math.min(everyMs - 1, Math.floor(used * everyMs)),
          })),
        );
        const [first] = models;
        const room = capacity - (first?.pinned && first.cost <= capacity ? first.cost : 0);
        const longestMs = models.length * 2 * (TIMINGS.maxFirstMs + STAY_MS);
        const starved: string[] = [];
        const check = (now: readonly Model[], nowMs: number) => {
          for (const { modelId, askedMs, cost, pinned } of now)
            if (askedMs !== null && !pinned && cost <= room && nowMs - askedMs > longestMs)
              starved.push(modelId);
        };
        run({ capacity, models, arrivals, stops: [] }, check, LONG_MS);
        expect(starved).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

describe('who gives way', () => {
  const idle = (modelId: string, cost: number, lastUsedMs: number): Holder => ({
    modelId,
    cost,
    lastUsedMs,
    alwaysOn: false,
    pinned: false,
    leaving: false,
    yields: true,
  });
  const wants = (modelId: string, cost: number, waitedMs = 0) => ({
    modelId,
    cost,
    waitedMs,
    alwaysOn: false,
  });

  it('is the least recently used, and no more than are needed', () => {
    const holders = [idle('new', 4, 3), idle('old', 4, 1), idle('middle', 4, 2)];
    expect(decide(12, holders, [wants('x', 4)], 10).sleep).toEqual(['old']);
    expect(decide(12, holders, [wants('x', 8)], 10).sleep).toEqual(['old', 'middle']);
    expect(decide(12, [idle('old', 2, 1), idle('large', 10, 2)], [wants('x', 10)], 10).sleep).toEqual([
      'large',
    ]);
  });

  it('is nobody when all of them together do not give enough, or when enough is coming back', () => {
    const busy = { ...idle('busy', 8, 1), yields: false };
    expect(decide(12, [busy, idle('old', 4, 1)], [wants('x', 8)], 10).sleep).toEqual([]);
    const leaving = { ...idle('leaving', 8, 1), leaving: true };
    expect(decide(12, [leaving, idle('old', 4, 1)], [wants('x', 8)], 10)).toEqual({
      start: [],
      sleep: [],
      refuse: [],
      first: null,
    });
  });

  it('is each that is idle, once one has waited too long for all of them to be idle together', () => {
    const busy = { ...idle('busy', 4, 1), yields: false };
    const holders = [busy, idle('idle', 4, 2), idle('small', 4, 3)];
    const wanting = (waitedMs: number) => [wants('large', 12, waitedMs), wants('late', 4)];
    expect(decide(12, holders, wanting(9), 10)).toMatchObject({ start: [], sleep: ['idle'] });
    expect(decide(12, holders, wanting(10), 10)).toMatchObject({ start: [], sleep: ['idle', 'small'] });
    const left = [busy, { ...idle('small', 4, 3), leaving: true }];
    expect(decide(12, left, wanting(20), 10)).toMatchObject({ start: [], sleep: [] });
  });

  it('is nobody if the waiting model cannot fit beside a pinned one; others overtake it', () => {
    const pinned = { ...idle('pinned', 4, 1), yields: false, pinned: true };
    const wanting = [wants('large', 12, 1_000), wants('small', 4)];
    expect(decide(12, [pinned, idle('idle', 4, 2)], wanting, 10)).toEqual({
      start: ['small'],
      sleep: [],
      refuse: [],
      first: null,
    });
  });

  it('makes room for the first who waits, and others pass it only while it is patient', () => {
    const busy = { ...idle('busy', 8, 1), yields: false };
    const wanting = (waitedMs: number) => [wants('large', 8, waitedMs), wants('small', 4)];
    expect(decide(12, [busy], wanting(9), 10).start).toEqual(['small']);
    expect(decide(12, [busy], wanting(10), 10).start).toEqual([]);
    // Room that is coming back is kept for it, and what is left over is not.
    const leaving = { ...idle('leaving', 6, 1), leaving: true };
    expect(decide(12, [leaving], [wants('large', 8), wants('small', 4)], 10).start).toEqual(['small']);
    expect(decide(12, [leaving], [wants('large', 8), wants('small', 5)], 10).start).toEqual([]);
  });

  it('never is an always-on model: what can have no room beside them is refused', () => {
    const always = { ...idle('always', 8, 1), alwaysOn: true, yields: false };
    expect(decide(12, [always], [wants('x', 5), wants('y', 4)], 10)).toEqual({
      start: ['y'],
      sleep: [],
      refuse: ['x'],
      first: null,
    });
  });

  it('is nobody while an always-on model is leaving: the waiting model takes its room', () => {
    const leaving = { ...idle('always', 8, 1), alwaysOn: true, yields: false, leaving: true };
    expect(decide(12, [leaving, idle('idle', 4, 1)], [wants('x', 8)], 10)).toEqual({
      start: [],
      sleep: [],
      refuse: [],
      first: null,
    });
  });
});
