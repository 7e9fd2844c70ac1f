import { describe, expect, it } from '@jest/globals';
import type { Condition } from '@tidegate/contracts';
import fc from 'fast-check';
import type { LeftBehind } from '../drivers/driver.ts';
import { backoffMs } from './backoff.ts';
import { conditionOf, type Event, isWakeable, type Mode, type State, step, takeOver } from './machine.ts';

const at = (phase: State['phase'], failures = 0, crashed = false): State => ({
  phase,
  reason: '',
  failures,
  crashed,
});
const down = { type: 'down', reason: 'exited', watching: false } as const;
const MODES: Mode[] = ['always_on', 'wake_on_request'];

/**
 * A driver, timers and a drain as the machine uses them. What can happen next depends on the
 * effects so far.
 */
class World {
  state: State;
  up = false; // something of the model runs, or is being launched
  halting = false;
  draining = false;
  backingOff = false;
  mode: Mode;
  launches = 0;

  constructor(mode: Mode) {
    this.mode = mode;
    this.state = at('stopped');
  }

  apply(event: Event): void {
    if (event.type === 'halted') {
      this.halting = false;
      this.up = false;
    }
    const { state, effects } = step(this.state, event, this.mode);
    if (state.phase !== this.state.phase) this.backingOff = false;
    this.state = state;
    for (const effect of effects) this.run(effect.type);
  }

  run(effect: string): void {
    if (effect === 'launch') {
      if (this.up || this.halting) throw new Error('launched before the previous run was halted');
      this.up = true;
      this.launches++;
    }
    if (effect === 'halt') {
      if (this.halting) throw new Error('halted twice');
      this.halting = true;
    }
    if (effect === 'drain') this.draining = true;
    if (effect === 'end_drain') this.draining = false;
    if (effect === 'back_off') this.backingOff = true;
  }

  possible(event: Event): boolean {
    switch (event.type) {
      case 'up':
      case 'down':
        return this.up && !this.halting;
      case 'halted':
        return this.halting;
      case 'drained':
      case 'called_off':
        return this.draining;
      case 'backoff_over':
        return this.backingOff;
      default:
        return true;
    }
  }
}

const anyEvent = fc.oneof(
  fc.constantFrom<Event>(
    { type: 'start' },
    { type: 'stop' },
    { type: 'wake' },
    { type: 'up' },
    { type: 'halted' },
    { type: 'idle' },
    { type: 'drained' },
    { type: 'called_off' },
    { type: 'steady' },
    { type: 'backoff_over' },
  ),
  fc.boolean().map((watching): Event => ({ type: 'down', reason: 'lost', watching })),
);

describe('the conditions of a model, for any events in any order', () => {
  it('never launch before the previous run has halted, and halt only once', () => {
    fc.assert(
      fc.property(fc.constantFrom(...MODES), fc.array(anyEvent, { maxLength: 60 }), (mode, events) => {
        const world = new World(mode);
        for (const event of events) if (world.possible(event)) world.apply(event);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are never stuck: a working model that is started ends up running, and a stopped one has nothing left', () => {
    fc.assert(
      fc.property(fc.constantFrom(...MODES), fc.array(anyEvent, { maxLength: 60 }), (mode, events) => {
        const world = new World(mode);
        for (const event of events) if (world.possible(event)) world.apply(event);
        world.apply({ type: 'start' });
        if (world.halting) world.apply({ type: 'halted' });
        if (world.up) world.apply({ type: 'up' });
        expect(conditionOf(world.state)).toBe('running');
        world.apply({ type: 'stop' });
        expect(conditionOf(world.state)).toBe('stopped');
        if (world.halting) world.apply({ type: 'halted' });
        expect(world).toMatchObject({ state: { phase: 'stopped' }, up: false, draining: false });
      }),
      { numRuns: 2_000 },
    );
  });

  it('keep a stopped model stopped until an owner starts it', () => {
    const others = anyEvent.filter(({ type }) => type !== 'start');
    fc.assert(
      fc.property(fc.constantFrom(...MODES), fc.array(anyEvent), fc.array(others), (mode, before, after) => {
        const world = new World(mode);
        for (const event of before) if (world.possible(event)) world.apply(event);
        world.apply({ type: 'stop' });
        const { launches } = world;
        for (const event of after) if (world.possible(event)) world.apply(event);
        expect(conditionOf(world.state)).toBe('stopped');
        expect(world.launches).toBe(launches);
      }),
    );
  });

  it('forgive a healthy model one crash, and the next only after it has been healthy again', () => {
    const healthy = new Set<Event['type']>(['start', 'steady', 'drained']);
    fc.assert(
      fc.property(fc.constantFrom(...MODES), fc.array(anyEvent, { maxLength: 300 }), (mode, events) => {
        const world = new World(mode);
        let spared = false;
        for (const event of events) {
          if (!world.possible(event)) continue;
          const before = world.state;
          const { phase, failures } = before;
          world.apply(event);
          if (healthy.has(event.type) && world.state !== before) spared = false;
          if (event.type !== 'down' || event.watching || phase !== 'running') continue;
          const spares = conditionOf(world.state) !== 'failed';
          expect(spares).toBe(failures === 0 && !spared);
          spared = true;
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('have a reason exactly when the model has failed', () => {
    fc.assert(
      fc.property(fc.constantFrom(...MODES), fc.array(anyEvent, { maxLength: 60 }), (mode, events) => {
        const world = new World(mode);
        for (const event of events) if (world.possible(event)) world.apply(event);
        expect(world.state.reason !== '').toBe(conditionOf(world.state) === 'failed');
      }),
    );
  });
});

describe('a model', () => {
  const moves: [string, Mode, State, Event, State['phase'], string[]][] = [
    [
      'that is asleep starts on the first wake',
      'wake_on_request',
      at('asleep'),
      { type: 'wake' },
      'launching',
      ['launch'],
    ],
    [
      'that is starting is not started again by further wakes',
      'wake_on_request',
      at('launching'),
      { type: 'wake' },
      'launching',
      [],
    ],
    ['that is stopped is not woken', 'wake_on_request', at('stopped'), { type: 'wake' }, 'stopped', []],
    ['that is backing off is not woken', 'wake_on_request', at('failed', 1), { type: 'wake' }, 'failed', []],
    [
      'that has failed is woken after its backoff',
      'wake_on_request',
      at('wakeable', 1),
      { type: 'wake' },
      'launching',
      ['launch'],
    ],
    [
      'that is always on restarts after its backoff',
      'always_on',
      at('failed', 1),
      { type: 'backoff_over' },
      'launching',
      ['launch'],
    ],
    [
      'that wakes on request waits to be woken after its backoff',
      'wake_on_request',
      at('failed', 1),
      { type: 'backoff_over' },
      'wakeable',
      [],
    ],
    ['that is always on never falls asleep', 'always_on', at('running'), { type: 'idle' }, 'running', []],
    [
      'that is idle is drained first',
      'wake_on_request',
      at('running'),
      { type: 'idle' },
      'draining',
      ['drain'],
    ],
    [
      'that has drained is halted',
      'wake_on_request',
      at('draining'),
      { type: 'drained' },
      'sleeping',
      ['end_drain', 'halt'],
    ],
    [
      'that is draining keeps running when it is woken',
      'wake_on_request',
      at('draining'),
      { type: 'wake' },
      'running',
      ['end_drain', 'await_steady'],
    ],
    [
      'that is halting to sleep is launched again when it is woken',
      'wake_on_request',
      at('sleeping'),
      { type: 'wake' },
      'relaunching',
      [],
    ],
    ['that is starting can be stopped', 'always_on', at('launching'), { type: 'stop' }, 'stopping', ['halt']],
    ['that is stopping can be started', 'always_on', at('stopping'), { type: 'start' }, 'relaunching', []],
    [
      'that crashes is started again immediately if it is always on',
      'always_on',
      at('running'),
      down,
      'relaunching',
      ['halt'],
    ],
    [
      'that crashes falls asleep if it wakes on request',
      'wake_on_request',
      at('running'),
      down,
      'sleeping',
      ['halt'],
    ],
    ['that crashes again fails', 'always_on', at('running', 0, true), down, 'failing', ['halt']],
    [
      'that crashes after failed starts fails',
      'wake_on_request',
      at('running', 1),
      down,
      'failing',
      ['halt'],
    ],
    ['that cannot be started is halted', 'always_on', at('launching'), down, 'failing', ['halt']],
    [
      'that is lost on a remote server is still probed',
      'always_on',
      at('running'),
      { ...down, watching: true },
      'unreachable',
      [],
    ],
    [
      'that is found again on a remote server runs',
      'always_on',
      at('unreachable'),
      { type: 'up' },
      'running',
      ['await_steady'],
    ],
  ];
  it.each(moves)('%s', (_name, mode, from, event, phase, effects) => {
    const next = step(from, event, mode);
    expect(next.state.phase).toBe(phase);
    expect(next.effects.map(({ type }) => type)).toEqual(effects);
  });

  it('backs off 10 s after a failure, doubling to 5 min, until it has run steadily or an owner starts it', () => {
    const fail = (state: State): State =>
      step(step({ ...state, phase: 'launching' }, down, 'always_on').state, { type: 'halted' }, 'always_on')
        .state;
    const delays: number[] = [];
    let state = at('launching');
    for (let i = 0; i < 7; i++) {
      state = fail(state);
      delays.push(backoffMs(state.failures));
    }
    expect(delays).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect(step({ ...state, phase: 'running' }, { type: 'steady' }, 'always_on').state.failures).toBe(0);
    expect(step(state, { type: 'start' }, 'always_on').state.failures).toBe(0);
    expect(step({ ...state, phase: 'wakeable' }, { type: 'wake' }, 'wake_on_request').state.failures).toBe(7);
  });

  it('that crashes backs off from the second crash on, until it has run steadily, slept, or been started by its owner', () => {
    const mode = 'wake_on_request';
    const crash = (state: State): State =>
      step(step({ ...state, phase: 'running' }, down, mode).state, { type: 'halted' }, mode).state;
    const first = crash(at('running'));
    expect(first).toEqual(at('asleep', 0, true));
    const second = crash(first);
    expect([second.phase, backoffMs(second.failures)]).toEqual(['failed', 10_000]);
    expect(backoffMs(crash(second).failures)).toBe(20_000);
    const steady = step({ ...second, phase: 'running' }, { type: 'steady' }, mode).state;
    const slept = step({ ...second, phase: 'draining' }, { type: 'drained' }, mode).state;
    const started = step(second, { type: 'start' }, mode).state;
    for (const state of [steady, slept, started]) expect(crash(state)).toEqual(first);
  });

  it('can be woken only when it is asleep, on its way there, or failed with its backoff over', () => {
    const wakeable = (phase: State['phase']) => isWakeable(at(phase), 'wake_on_request');
    expect(
      ['asleep', 'sleeping', 'draining', 'wakeable'].every((phase) => wakeable(phase as State['phase'])),
    ).toBe(true);
    expect(
      ['stopped', 'launching', 'running', 'failed', 'failing', 'unreachable'].some((phase) =>
        wakeable(phase as State['phase']),
      ),
    ).toBe(false);
    expect(isWakeable(at('asleep'), 'always_on')).toBe(false);
  });
});

describe('a runner that takes a model over', () => {
  const cases: [Condition, LeftBehind, State['phase'], State['phase']][] = [
    ['stopped', 'nothing', 'stopped', 'stopped'],
    ['stopped', 'process', 'stopping', 'stopping'],
    ['stopped', 'remains', 'stopping', 'stopping'],
    ['running', 'process', 'running', 'running'],
    ['running', 'remote', 'running', 'running'],
    ['stopped', 'pending', 'stopping', 'stopping'],
    ['running', 'pending', 'launching', 'launching'],
    ['starting', 'pending', 'launching', 'launching'],
    ['asleep', 'pending', 'launching', 'launching'],
    ['failed', 'pending', 'launching', 'failing'],
    ['stopped', 'unknown', 'stopping', 'stopping'],
    ['running', 'unknown', 'launching', 'launching'],
    ['starting', 'unknown', 'launching', 'launching'],
    ['asleep', 'unknown', 'launching', 'sleeping'],
    ['failed', 'unknown', 'launching', 'failing'],
    ['running', 'nothing', 'launching', 'asleep'],
    ['running', 'remains', 'relaunching', 'sleeping'],
    ['starting', 'process', 'launching', 'launching'],
    ['starting', 'nothing', 'launching', 'asleep'],
    ['starting', 'remains', 'relaunching', 'sleeping'],
    ['asleep', 'process', 'launching', 'launching'],
    ['asleep', 'nothing', 'launching', 'asleep'],
    ['asleep', 'remains', 'relaunching', 'sleeping'],
    ['failed', 'process', 'launching', 'launching'],
    ['failed', 'nothing', 'launching', 'wakeable'],
    ['failed', 'remains', 'relaunching', 'failing'],
    ['failed', 'remote', 'launching', 'wakeable'],
  ];
  it.each(cases)(
    'last seen %s, with left behind: %s; always on → %s, wake on request → %s',
    (left, leftBehind, alwaysOn, wakeOnRequest) => {
      expect(takeOver(left, 'why', 'always_on', leftBehind).state.phase).toBe(alwaysOn);
      expect(takeOver(left, 'why', 'wake_on_request', leftBehind).state.phase).toBe(wakeOnRequest);
    },
  );
});
