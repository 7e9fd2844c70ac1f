import {
  Counter,
  type CounterCell,
  CounterCells,
  Gauge,
  type HistogramCell,
  HistogramCells,
  type Registry,
} from '@tidegate/runtime';
import { LIMITER_ERROR_REASONS } from './limiter-error.ts';

export const CHORES = ['reaper', 'sweep', 'recovery'] as const;
/** What one limiter does for all limiters. */
export type ChoreName = (typeof CHORES)[number];

const BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2];

export interface LimiterMetrics {
  readonly decided: (call: string, outcome: string, seconds: number) => void;
  /** A run of a chore has succeeded. */
  readonly ran: (chore: ChoreName) => void;
  readonly failed: (reason: string) => void;
  readonly pipelineTook: (seconds: number, commands: number) => void;
  readonly reaped: (counts: { readonly settled: number; readonly withdrawn: number }) => void;
  readonly republished: (settlements: number) => void;
  readonly unpublished: (settlements: number) => void;
}

export function createLimiterMetrics(registry: Registry): LimiterMetrics {
  const registers = [registry];
  const decided = countDecisions(registry);
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name: `tidegate_limiter_${name}`, help, labelNames, registers });
  const failures = counter('failures_total', 'Calls that could not be decided.', ['reason']);
  const reaped = counter(
    'reaped_total',
    'Admissions that dead gateways left behind, by how they were ended: settled or withdrawn.',
    ['end'],
  );
  // Created in advance, so that the first of them are seen as a rise.
  for (const reason of [...LIMITER_ERROR_REASONS, 'internal']) failures.inc({ reason }, 0);
  for (const end of ['settled', 'withdrawn']) reaped.inc({ end }, 0);
  const republished = counter('republished_total', 'Settlements that the sweep offered to the queue again.');
  const unpublished = counter('unpublished_total', 'Settlements left to the sweep.');
  const seconds = new HistogramCells({
    registry,
    name: 'tidegate_limiter_redis_seconds',
    help: 'From sending a pipeline to its last reply.',
    buckets: BUCKETS_S,
  }).cell();
  const commands = new CounterCells({
    registry,
    name: 'tidegate_limiter_redis_commands_total',
    help: 'Scripts and commands sent to Redis.',
  }).cell();
  const ran = new Gauge({
    name: 'tidegate_limiter_chore_last_run_timestamp_seconds',
    help: 'When this limiter last did a chore for all limiters (reaper, sweep, recovery), or started if it never did.',
    labelNames: ['chore'],
    registers,
  });
  // Set in advance, so that an alert sees a chore that never succeeds.
  for (const chore of CHORES) ran.setToCurrentTime({ chore });

  return {
    decided,
    ran: (chore) => ran.setToCurrentTime({ chore }),
    failed: (reason) => failures.inc({ reason }),
    pipelineTook(took, count) {
      seconds.observe(took);
      commands.value += count;
    },
    reaped({ settled, withdrawn }) {
      reaped.inc({ end: 'settled' }, settled);
      reaped.inc({ end: 'withdrawn' }, withdrawn);
    },
    republished: (settlements) => republished.inc(settlements),
    unpublished: (settlements) => unpublished.inc(settlements),
  };
}

function countDecisions(registry: Registry): LimiterMetrics['decided'] {
  const decisions = new CounterCells({
    registry,
    name: 'tidegate_limiter_decisions_total',
    help: 'Decisions by call and outcome.',
    labelNames: ['call', 'outcome'],
  });
  const decisionSeconds = new HistogramCells({
    registry,
    name: 'tidegate_limiter_decision_seconds',
    help: 'From the arrival of a call to its decision.',
    labelNames: ['call'],
    buckets: BUCKETS_S,
  });
  const children = new Map<string, { readonly count: CounterCell; readonly seconds: HistogramCell }>();
  return (call, outcome, took) => {
    const name = `${call} ${outcome}`;
    let child = children.get(name);
    if (!child) {
      child = { count: decisions.cell(call, outcome), seconds: decisionSeconds.cell(call) };
      children.set(name, child);
    }
    child.count.value++;
    child.seconds.observe(took);
  };
}
