import type { Condition } from '@tidegate/contracts';
import type { LeftBehind } from '../drivers/driver.ts';
import { backoffMs } from './backoff.ts';

export type Mode = 'always_on' | 'wake_on_request';

/**
 * A model's state as the runner needs it. A model that is being ended keeps its phase until its
 * driver has halted. So no start ever meets remains of the previous run.
 */
type Phase =
  | 'stopped'
  | 'stopping'
  | 'launching'
  | 'relaunching' // launches when the previous run has halted
  | 'running'
  | 'draining' // shown as asleep, but up until every gateway has let go
  | 'sleeping' // let go; halting
  | 'asleep'
  | 'failing' // halting
  | 'failed' // backing off
  | 'wakeable' // failed, backoff over
  | 'unreachable'; // failed; the driver keeps probing

export interface State {
  readonly phase: Phase;
  /** Why the model failed. Empty otherwise. */
  readonly reason: string;
  /** Failures in a row. The backoff grows with them. A crash without backoff does not count. */
  readonly failures: number;
  /**
   * Whether the model has used up its one crash without backoff. Being steady restores it. Another
   * crash before that counts as a crash loop.
   */
  readonly crashed: boolean;
}

export type Event =
  | { readonly type: 'start' | 'stop' } // from an owner
  | { readonly type: 'wake' } // from a request
  | { readonly type: 'up' }
  | { readonly type: 'down'; readonly reason: string; readonly watching: boolean }
  | { readonly type: 'restarting' } // no replica is left, but they are coming back
  | { readonly type: 'halted' }
  | { readonly type: 'idle' | 'drained' | 'called_off' }
  | { readonly type: 'steady' } // has run long enough to forget its failures and its crash
  | { readonly type: 'backoff_over' }
  | { readonly type: 'unwanted' }; // waits for room, and nobody waits for it

export type Effect =
  | { readonly type: 'launch' | 'halt' | 'drain' | 'end_drain' | 'await_steady' }
  | { readonly type: 'back_off'; readonly delayMs: number };

export interface Transition {
  readonly state: State;
  readonly effects: readonly Effect[];
}

const CONDITIONS: Record<Phase, Condition> = {
  stopped: 'stopped',
  stopping: 'stopped',
  launching: 'starting',
  relaunching: 'starting',
  running: 'running',
  draining: 'asleep',
  sleeping: 'asleep',
  asleep: 'asleep',
  failing: 'failed',
  failed: 'failed',
  wakeable: 'failed',
  unreachable: 'failed',
};
const HALTING: ReadonlySet<Phase> = new Set(['stopping', 'relaunching', 'sleeping', 'failing']);
const WAKEABLE: ReadonlySet<Phase> = new Set(['draining', 'sleeping', 'asleep', 'wakeable']);

type Next = Phase | ((mode: Mode) => Phase);

/** All transitions except those of `down`. An event that is not listed changes nothing. */
const MOVES: Record<Phase, Partial<Record<Event['type'], Next>>> = {
  stopped: { start: 'launching' },
  stopping: { start: 'relaunching', halted: 'stopped' },
  launching: {
    up: 'running',
    stop: 'stopping',
    unwanted: (mode) => (mode === 'wake_on_request' ? 'asleep' : 'launching'),
  },
  relaunching: { halted: 'launching', stop: 'stopping' },
  running: {
    stop: 'stopping',
    restarting: 'launching',
    idle: (mode) => (mode === 'wake_on_request' ? 'draining' : 'running'),
  },
  draining: {
    wake: 'running',
    start: 'running',
    called_off: 'running',
    drained: 'sleeping',
    restarting: 'sleeping',
    stop: 'stopping',
  },
  sleeping: { wake: 'relaunching', start: 'relaunching', halted: 'asleep', stop: 'stopping' },
  asleep: { wake: 'launching', start: 'launching', stop: 'stopped' },
  failing: { halted: 'failed', start: 'relaunching', stop: 'stopping' },
  failed: {
    backoff_over: (mode) => (mode === 'always_on' ? 'launching' : 'wakeable'),
    start: 'launching',
    stop: 'stopped',
  },
  wakeable: { wake: 'launching', start: 'launching', stop: 'stopped' },
  unreachable: { up: 'running', restarting: 'launching', stop: 'stopping', start: 'relaunching' },
};

export const conditionOf = (state: State): Condition => CONDITIONS[state.phase];

/** Whether a request may wake the model. */
export const isWakeable = (state: State, mode: Mode): boolean =>
  mode === 'wake_on_request' && WAKEABLE.has(state.phase);

/** Whether the model as a whole is being ended. */
export const isEnding = ({ phase }: State): boolean => phase === 'draining' || HALTING.has(phase);

/** Applies an event to a state. Pure. Returns the same state object if nothing changes. */
export function step(state: State, event: Event, mode: Mode): Transition {
  const next = nextState(state, event, mode);
  return { state: next, effects: next.phase === state.phase ? [] : effectsOf(state.phase, next) };
}

/**
 * The state in which a new leader takes over a model.
 *
 * @param persisted the last condition that the previous runner wrote; it may have done more after
 * that
 */
export function takeOver(
  persisted: Condition,
  reason: string,
  mode: Mode,
  leftBehind: LeftBehind,
): Transition {
  const phase = phaseAfterTakeover(persisted, mode, leftBehind);
  const failed = CONDITIONS[phase] === 'failed';
  const state: State = { phase, reason: failed ? reason : '', failures: failed ? 1 : 0, crashed: false };
  return { state, effects: effectsOf('stopped', state) };
}

/** For a phase without a process: the phase that halts what remains and then leads to it. */
const HALTING_FOR: Partial<Record<Phase, Phase>> = {
  stopped: 'stopping',
  launching: 'relaunching',
  asleep: 'sleeping',
  wakeable: 'failing',
};

function phaseAfterTakeover(persisted: Condition, mode: Mode, leftBehind: LeftBehind): Phase {
  if (leftBehind === 'remains') {
    const phase = phaseAfterTakeover(persisted, mode, 'nothing');
    return HALTING_FOR[phase] ?? phase;
  }
  const idlePhase = (wakeOnRequest: Phase): Phase => (mode === 'always_on' ? 'launching' : wakeOnRequest);
  const pending = leftBehind === 'pending' || leftBehind === 'unknown';
  const process = leftBehind === 'process' || pending;
  switch (persisted) {
    case 'stopped':
      return process ? 'stopping' : 'stopped';
    case 'running':
      if (pending) return 'launching';
      return leftBehind === 'nothing' ? idlePhase('asleep') : 'running';
    case 'asleep':
      // An earlier runner may not have finished putting it to sleep.
      if (leftBehind === 'unknown') return idlePhase('sleeping');
      return process ? 'launching' : idlePhase('asleep');
    case 'starting':
      return process ? 'launching' : idlePhase('asleep');
    case 'failed':
      // It may still be running without answering. A launch finds out.
      if (leftBehind === 'process') return 'launching';
      return idlePhase(pending ? 'failing' : 'wakeable');
  }
}

function nextState(state: State, event: Event, mode: Mode): State {
  if (event.type === 'down') return afterLoss(state, event, mode);
  if (event.type === 'steady') return state.phase === 'running' ? withoutFailures(state) : state;
  const next = MOVES[state.phase][event.type];
  const phase = typeof next === 'function' ? next(mode) : (next ?? state.phase);
  if (phase === state.phase) return state;
  // A model that fell asleep was healthy until then.
  const { failures, crashed } =
    event.type === 'start' || event.type === 'drained' ? withoutFailures(state) : state;
  return { phase, reason: CONDITIONS[phase] === 'failed' ? state.reason : '', failures, crashed };
}

const withoutFailures = (state: State): State =>
  state.failures > 0 || state.crashed ? { ...state, failures: 0, crashed: false } : state;

function afterLoss(state: State, event: Extract<Event, { type: 'down' }>, mode: Mode): State {
  const { phase, failures, crashed } = state;
  switch (phase) {
    case 'launching':
    case 'running':
    case 'unreachable':
      if (event.watching) return { ...state, phase: 'unreachable', reason: event.reason };
      if (phase === 'running' && failures === 0 && !crashed) return afterFirstCrash(mode);
      return { phase: 'failing', reason: event.reason, failures: failures + 1, crashed };
    case 'draining':
      return { ...state, phase: 'sleeping' };
    default:
      return state;
  }
}

/**
 * After its first crash, a healthy model starts again without backoff: immediately, or with the
 * next request.
 */
const afterFirstCrash = (mode: Mode): State => ({
  phase: mode === 'always_on' ? 'relaunching' : 'sleeping',
  reason: '',
  failures: 0,
  crashed: true,
});

/** The effects of moving from one phase to another. */
function effectsOf(from: Phase, to: State): Effect[] {
  const effects: Effect[] = [];
  if (from === 'draining') effects.push({ type: 'end_drain' });
  if (HALTING.has(to.phase) && !HALTING.has(from)) effects.push({ type: 'halt' });
  if (to.phase === 'launching') effects.push({ type: 'launch' });
  if (to.phase === 'running') effects.push({ type: 'await_steady' });
  if (to.phase === 'draining') effects.push({ type: 'drain' });
  if (to.phase === 'failed') effects.push({ type: 'back_off', delayMs: backoffMs(to.failures) });
  return effects;
}
