import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PoolWorld, ROOM_TIMINGS, STAY_MS, type World, type WorldModel } from '../testing/pool-world.ts';
import { type Occupant, Room, type RoomUse } from './room.ts';

const END_MS = 300;
const cost = fc.integer({ min: 1, max: 12 });
const model = fc.nat(5);
/** Apart from arrivals, only one kind of event happens in a tick. */
const atTick = (kind: 0 | 1 | 2 | 3) => fc.nat(END_MS / 4 - 1).map((n) => 4 * n + kind);

const shape: fc.Arbitrary<World> = fc.record({
  capacity: cost,
  drainMs: fc.constantFrom(1, 4),
  models: fc.array(
    // Few are pinned: beside several, nothing else ever has room.
    fc.record({ cost, alwaysOn: fc.boolean(), pinned: fc.constantFrom(false, false, false, true) }),
    { minLength: 1, maxLength: 6 },
  ),
  arrivals: fc.array(fc.record({ atMs: fc.nat(END_MS), model, forMs: fc.nat(15) }), { maxLength: 100 }),
  stops: fc.array(fc.record({ atMs: atTick(0), model, endsAfterMs: fc.integer({ min: 1, max: 40 }) }), {
    maxLength: 12,
  }),
  resizes: fc.uniqueArray(fc.record({ atMs: atTick(1), capacity: fc.option(cost, { freq: 10 }) }), {
    maxLength: 4,
    selector: ({ atMs }) => atMs,
  }),
  recosts: fc.array(fc.record({ atMs: atTick(2), model, cost }), { maxLength: 6 }),
  crashes: fc.array(fc.record({ atMs: atTick(3), model }), { maxLength: 6 }),
});

describe('the room of a pool', () => {
  it('is never exceeded by what starts, and no model in use or pinned gives way, whatever happens when', () => {
    fc.assert(
      fc.property(shape, (world) => {
        const wrong: (RoomUse | null)[] = [];
        new PoolWorld(world).run(END_MS + 20, ({ room, held, capacity }) => {
          const use = room.use();
          if (use && (use.capacity !== capacity || use.used !== held)) wrong.push(use);
        });
        expect(wrong).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('goes to every waiting model within a bounded time after the last arrival, unless a pinned one is in its way', () => {
    const boundMs = 8 * (STAY_MS + 15 + ROOM_TIMINGS.maxFirstMs);
    fc.assert(
      fc.property(shape, (world) => {
        const pool = new PoolWorld(world).run(END_MS + boundMs);
        const free = (pool.capacity ?? 0) - pool.heldBy('alwaysOn') - pool.heldBy('pinned');
        expect(pool.models.filter((one) => one.askedMs !== null && one.cost <= free)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('is refused only to a model that can never fit beside the always-on models', () => {
    fc.assert(
      fc.property(shape, (world) => {
        const refused = new Set<WorldModel>();
        new PoolWorld(world).run(END_MS + 20, (pool) => {
          const left = (pool.capacity ?? 0) - pool.heldBy('alwaysOn');
          for (const one of pool.models.filter(({ phase }) => phase === 'refused')) {
            if (!refused.has(one)) expect(one.cost).toBeGreaterThan(left);
            refused.add(one);
          }
        });
      }),
      { numRuns: 300 },
    );
  });
});

describe('a model that is being ended', () => {
  it('is named only to its own organization, and only while it has room', () => {
    const room = new Room(ROOM_TIMINGS);
    room.resize(4, 0);
    const occupant: Occupant = {
      modelId: 'mdl_1',
      orgId: 'org_1',
      ...{ cost: 4, alwaysOn: false, pinned: false, leaving: true, yields: false, lastUsedMs: 0 },
      granted: () => {},
      refused: () => {},
      giveWay: () => {},
    };
    const told = () => ['org_1', 'org_2'].map((orgId) => room.hasLeaving(orgId));
    expect(told()).toEqual([false, false]);
    room.hold(occupant);
    expect(told()).toEqual([true, false]);
    room.release(occupant, 0);
    expect(told()).toEqual([false, false]);
  });
});

describe('a model that can never have room', () => {
  const reasonOf = (cost: number): string[] => {
    const reasons: string[] = [];
    const room = new Room(ROOM_TIMINGS);
    room.resize(10, 0);
    const usual = { pinned: false, leaving: false, yields: false, lastUsedMs: 0 };
    const told = { granted: () => {}, refused: (why: string) => reasons.push(why), giveWay: () => {} };
    room.hold({ modelId: 'mdl_1', orgId: 'org_1', cost: 7, alwaysOn: true, ...usual, ...told });
    room.ask({ modelId: 'mdl_2', orgId: 'org_2', cost, alwaysOn: false, ...usual, ...told }, 0);
    return reasons;
  };

  it("is refused with its own cost and the capacity, without what other organizations' models take", () => {
    expect(reasonOf(5)).toEqual(["It needs 5 of its pool's 10, but always-on models leave less."]);
    expect(reasonOf(12)).toEqual(["It needs 12, but its pool's capacity is 10."]);
  });
});

const usual = { alwaysOn: false, pinned: false };
/** Two models in turn: every 7 ticks from tick 0 on, one of them is used for 2 ticks. */
const inTurns = (models: readonly [number, number], untilMs: number) =>
  Array.from({ length: Math.ceil(untilMs / 7) }, (_one, i) => ({
    atMs: 7 * i,
    model: models[i % 2] as number,
    forMs: 2,
  }));
const isRunning = ({ phase }: WorldModel) => phase === 'running';

describe('a large model that waits', () => {
  it('is not starved by small ones, however often they are used', () => {
    const models = [8, 4, 4].map((one) => ({ ...usual, cost: one }));
    const arrivals = [...inTurns([1, 2], 200), { atMs: 20, model: 0, forMs: 0 }];
    let ranAtMs = 0;
    new PoolWorld({ capacity: 8, models, arrivals }).run(200, ({ models: [large], nowMs }) => {
      if (large && isRunning(large)) ranAtMs ||= nowMs;
    });
    expect(ranAtMs).toBeGreaterThan(0);
    expect(ranAtMs).toBeLessThan(20 + ROOM_TIMINGS.maxFirstMs);
  });

  it.each(['always on', 'woken'])(
    'does not hold up others forever while a model in use is in its way: %s',
    (mode) => {
      const large = { ...usual, cost: 6, alwaysOn: mode === 'always on' };
      const models = [large, ...[8, 4, 4].map((one) => ({ ...usual, cost: one }))];
      const longUse = { atMs: 0, model: 1, forMs: 600 };
      const arrivals = [longUse, ...inTurns([2, 3], 1_000), { atMs: 20, model: 0, forMs: 0 }];
      const starts = [0, 0, 0, 0];
      let before = [false, false, false, false];
      new PoolWorld({ capacity: 12, models, arrivals }).run(1_000, (pool) => {
        const now = pool.models.map(isRunning);
        // Of the small ones' starts, only those while the large one waits count.
        now.forEach((runs, i) => {
          if (runs && !before[i] && (i === 0 || pool.nowMs < 600)) starts[i] = (starts[i] ?? 0) + 1;
        });
        before = now;
      });
      // In 600 ticks each small one has at least three turns, between those of the large one.
      expect(Math.min(starts[2] ?? 0, starts[3] ?? 0)).toBeGreaterThan(2);
      expect(starts[0]).toBeGreaterThan(0);
    },
  );
});

/** Models that are used again and again, and are idle again within this time. */
const IDLE_WITHIN_MS = 12;
/** They are idle for at least this long, so that their gateways can let go of them. */
const IDLE_FOR_MS = 3;
const LONG_MS = 2_000;

const users = fc.record({
  capacity: fc.constantFrom(11, 12),
  pinned: fc.boolean(),
  alwaysOn: fc.boolean(),
  users: fc.array(
    fc.record({
      cost: fc.constantFrom(2, 3, 4, 6, 11, 12),
      everyMs: fc.integer({ min: IDLE_FOR_MS + 1, max: IDLE_WITHIN_MS }),
      firstMs: fc.nat(IDLE_WITHIN_MS),
      used: fc.double({ min: 0.4, max: 1, noNaN: true }),
    }),
    { minLength: 3, maxLength: 5 },
  ),
});

describe('arrivals that never end', () => {
  it('never starve a model that can get room, however often the others are used', () => {
    fc.assert(
      fc.property(users, ({ capacity, users: all, pinned, alwaysOn }) => {
        // Pinned and always-on models stay forever once they run, so there is at most one of each.
        const models = all.map((one, i) => ({
          cost: one.cost,
          pinned: pinned && i === 0,
          alwaysOn: alwaysOn && i === 1,
        }));
        const arrivals = all.flatMap(({ everyMs, firstMs, used }, i) =>
          Array.from({ length: Math.floor(LONG_MS / everyMs) }, (_one, n) => ({
            atMs: firstMs + n * everyMs,
            model: i,
            forMs: Math.floor(used * (everyMs - IDLE_FOR_MS)),
          })),
        );
        const roomBeside = (others: World['models']) =>
          capacity - others.reduce((sum, one) => sum + (one.cost <= capacity ? one.cost : 0), 0);
        const beside = models.map((_one, i) =>
          roomBeside(models.filter((other, j) => i !== j && (other.pinned || other.alwaysOn))),
        );
        const longestMs = models.length * 2 * (ROOM_TIMINGS.maxFirstMs + STAY_MS);
        const starved: string[] = [];
        new PoolWorld({ capacity, models, arrivals }).run(LONG_MS, ({ models: now, nowMs }) => {
          now.forEach(({ modelId, askedMs, cost: needed }, i) => {
            if (askedMs === null || needed > (beside[i] ?? 0)) return;
            if (nowMs - askedMs > longestMs) starved.push(modelId);
          });
        });
        expect(starved).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
