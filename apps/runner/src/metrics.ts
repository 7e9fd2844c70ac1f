import { CONDITIONS, type Condition } from '@tidegate/contracts';
import { Counter, Gauge, Histogram, type Registry, readGauge, readGauges } from '@tidegate/runtime';
import type { RoomUse } from './room/room.ts';

export interface RunnerMetrics {
  readonly wakes: Counter<'result'>;
  readonly starts: Counter<'result'>;
  readonly startSeconds: Histogram;
  readonly sleeps: Counter<'result'>;
  readonly probeFailures: Counter<'driver'>;
}

export function createRunnerMetrics(registry: Registry): RunnerMetrics {
  const registers = [registry];
  const metrics = {
    wakes: new Counter({
      name: 'tidegate_runner_wakes_total',
      help: 'Wake calls answered, by the outcome for the model.',
      labelNames: ['result'],
      registers,
    }),
    starts: new Counter({
      name: 'tidegate_runner_starts_total',
      help: 'Starts of models, by how they ended.',
      labelNames: ['result'],
      registers,
    }),
    startSeconds: new Histogram({
      name: 'tidegate_runner_start_seconds',
      help: 'Time from the launch of a model to its first healthy probe.',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600],
      registers,
    }),
    sleeps: new Counter({
      name: 'tidegate_runner_sleeps_total',
      help: 'Idle models that fell asleep, or whose sleep was called off.',
      labelNames: ['result'],
      registers,
    }),
    probeFailures: new Counter({
      name: 'tidegate_runner_probe_failures_total',
      help: 'Failed health probes of models that are not starting.',
      labelNames: ['driver'],
      registers,
    }),
  };
  // Created in advance, so that the first of them are seen as a rise.
  for (const result of ['running', 'failed', 'stopped']) metrics.starts.inc({ result }, 0);
  for (const result of ['asleep', 'called_off']) metrics.sleeps.inc({ result }, 0);
  for (const driver of ['external', 'process', 'kubernetes']) metrics.probeFailures.inc({ driver }, 0);
  return metrics;
}

/** At most this many models have series of their own: those with the most requests in flight. */
const MAX_MODELS = 200;

export interface ObservedModel {
  readonly orgId: string;
  readonly name: string;
  readonly condition: string;
  /** Those that can be called. */
  readonly replicas: number;
  /** In all, while it runs. */
  readonly allReplicas: number;
  /** As gateways last reported. */
  readonly inFlight: number;
  /** Callers that wait until it runs. */
  readonly waiting: number;
}

export interface Observed {
  models(): Iterable<ObservedModel>;
  /** The current conditions of all models. */
  conditions(): Iterable<Condition>;
  /** Null: the pool has no capacity, or this runner stands by. */
  room(): RoomUse | null;
  readonly gateways: number;
  readonly leads: boolean;
  readonly pool: string;
}

/** Registers gauges that read the runner's state when they are collected. */
export function observeRunner(registry: Registry, observed: () => Observed): void {
  const registers = [registry];
  const models = {
    registry,
    name: 'tidegate_runner_models',
    labelNames: ['condition'] as const,
    help: 'Published models by condition. Reported only by the runner that leads.',
  };
  readGauges(models, () => {
    if (!observed().leads) return [];
    const counts = new Map<Condition, number>();
    for (const condition of observed().conditions()) counts.set(condition, (counts.get(condition) ?? 0) + 1);
    return CONDITIONS.map((condition) => [{ condition }, counts.get(condition) ?? 0] as const);
  });
  const gateways = {
    registry,
    name: 'tidegate_runner_gateways',
    help: 'Gateways that watch the catalog. Reported only by the runner that leads.',
  };
  readGauge(gateways, () => (observed().leads ? observed().gateways : null));
  new Gauge({
    name: 'tidegate_runner_active',
    help: '1: this runner leads its pool. 0: it stands by.',
    labelNames: ['pool'],
    registers,
    collect() {
      const { pool, leads } = observed();
      this.set({ pool }, leads ? 1 : 0);
    },
  });
  observePool(registry, observed);
  observeModels(registry, () => {
    const models = [...observed().models()];
    if (models.length <= MAX_MODELS) return models;
    return models.sort((a, b) => b.inFlight - a.inFlight).slice(0, MAX_MODELS);
  });
}

function observePool(registry: Registry, observed: () => Observed): void {
  const perPool = (name: string, help: string, value: (use: RoomUse) => number) =>
    readGauges({ registry, name: `tidegate_runner_pool_${name}`, help, labelNames: ['pool'] }, () => {
      const { pool, room } = observed();
      const use = room();
      return use ? [[{ pool }, value(use)] as const] : [];
    });
  perPool(
    'used',
    'The part of the capacity that models take while they run, start or are being ended.',
    ({ used }) => used,
  );
  perPool('capacity', 'What the models of the pool share.', ({ capacity }) => capacity);
  perPool('waiting_models', 'Models that wait until their pool has room for them.', ({ waiting }) => waiting);
}

function observeModels(registry: Registry, models: () => readonly ObservedModel[]): void {
  const perModel = (name: string, help: string, value: (model: ObservedModel) => number) =>
    readGauges({ registry, name: `tidegate_runner_model_${name}`, help, labelNames: ['org', 'model'] }, () =>
      models().map((model) => [{ org: model.orgId, model: model.name }, value(model)] as const),
    );
  readGauges(
    {
      registry,
      name: 'tidegate_runner_model_condition',
      help: 'Always 1. The label condition names the condition that the model is in.',
      labelNames: ['org', 'model', 'condition'],
    },
    () => models().map(({ orgId, name, condition }) => [{ org: orgId, model: name, condition }, 1] as const),
  );
  perModel('replicas', 'Replicas that can be called.', ({ replicas }) => replicas);
  perModel(
    'replicas_all',
    'Replicas of a model that runs, including those that cannot be called. 0 if it does not run.',
    ({ allReplicas }) => allReplicas,
  );
  perModel(
    'requests_in_flight',
    'Requests in flight, as gateways last reported.',
    ({ inFlight }) => inFlight,
  );
  perModel('waiters', 'Callers that wait for the model to run.', ({ waiting }) => waiting);
}
