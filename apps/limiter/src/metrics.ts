import { Counter, Gauge, Histogram, type Registry } from '@tidegate/runtime';

const BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2];

export interface LimiterMetrics {
  readonly decided: (call: string, outcome: string) => void;
  readonly failed: (reason: string) => void;
  readonly pipelineTook: (seconds: number, commands: number) => void;
  readonly reaped: (counts: { readonly settled: number; readonly withdrawn: number }) => void;
  readonly republished: (settlements: number) => void;
  readonly unpublished: (settlements: number) => void;
}

export function createLimiterMetrics(
  registry: Registry,
  live: { readonly sessions: () => number; readonly openCalls: () => number },
): LimiterMetrics {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name: `tidegate_limiter_${name}`, help, labelNames, registers });
  const decisions = counter('decisions_total', 'Decisions by call and outcome.', ['call', 'outcome']);
  const failures = counter('failures_total', 'Calls that could not be decided.', ['reason']);
  const reaped = counter('reaped_total', 'Admissions that dead gateways left.', ['end']);
  const republished = counter('republished_total', 'Settlements that the sweep offered to the queue again.');
  const unpublished = counter('unpublished_total', 'Settlements left to the sweep.');
  const seconds = new Histogram({
    name: 'tidegate_limiter_redis_seconds',
    help: 'From sending a pipeline to its last reply.',
    buckets: BUCKETS_S,
    registers,
  });
  const commands = counter('redis_commands_total', 'Scripts and commands sent to Redis.');
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `tidegate_limiter_${name}`,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge('sessions', 'Open sessions.', live.sessions);
  gauge('open_calls', 'Calls without a reply.', live.openCalls);

  const children = new Map<string, { inc(): void }>();
  return {
    decided(call, outcome) {
      const name = `${call} ${outcome}`;
      let child = children.get(name);
      if (!child) {
        child = decisions.labels(call, outcome);
        children.set(name, child);
      }
      child.inc();
    },
    failed: (reason) => failures.inc({ reason }),
    pipelineTook(took, count) {
      seconds.observe(took);
      commands.inc(count);
    },
    reaped({ settled, withdrawn }) {
      reaped.inc({ end: 'settled' }, settled);
      reaped.inc({ end: 'withdrawn' }, withdrawn);
    },
    republished: (settlements) => republished.inc(settlements),
    unpublished: (settlements) => unpublished.inc(settlements),
  };
}
