import { type Registry, readGauge, readGauges } from '@tidegate/runtime';
import type { CatalogModel } from '../catalog/catalog.ts';
import type { PoolWatches } from '../catalog/pool-watches.ts';
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../http/exchange.ts';
import { MAX_MODELS } from './models.ts';

export interface ObservedParts {
  readonly gateway: Gateway;
  readonly watches: PoolWatches;
  readonly connections: () => Promise<number>;
  readonly monotonicMs: () => number;
}

/** Gauges that are read at collection: loads with their limits, and the state of the parts. */
export function observeParts(registry: Registry, parts: ObservedParts): void {
  const { gateway, watches, connections, monotonicMs } = parts;
  const { config, activity, bodyBudget, limiter, exchanges } = gateway;
  const { gauge, limited } = gaugesOf(registry);
  const oldest = (matches: (exchange: Exchange) => boolean) => () => {
    // The exchanges are in the order in which they began.
    for (const exchange of exchanges)
      if (matches(exchange)) return (monotonicMs() - exchange.facts.startedAtMs) / 1_000;
    return 0;
  };
  limited(
    'requests_in_flight',
    'Completions that passed validation and have not ended',
    () => activity.total,
    config.MAX_REQUESTS_IN_FLIGHT,
  );
  limited('connections', 'Open connections of clients', connections, config.MAX_CONNECTIONS);
  limited(
    'body_bytes',
    'Memory held by request bodies, linked images and large answers',
    () => bodyBudget.taken,
    config.MAX_BUFFERED_BODY_BYTES,
  );
  limited(
    'limiter_unacknowledged',
    'Settlements, withdrawals and releases that no limiter has acknowledged. Beyond the limit, requests are refused',
    () => limiter.unacknowledged,
    config.MAX_REQUESTS_IN_FLIGHT,
  );
  gauge(
    'oldest_request_seconds',
    'Age of the oldest request in progress',
    oldest(() => true),
  );
  gauge(
    'oldest_reservation_seconds',
    'Age of the oldest request with an open reservation',
    oldest(({ held }) => held?.counted ?? false),
  );
  gauge(
    'limiter_ready',
    '1 while a limiter session is up and the calls to retry are within their limit',
    () => Number(limiter.ready),
  );
  gauge('catalog_live', '1 while the catalog follows the runners of all pools', () => Number(watches.live));
  observeModels(registry, gateway);
}

function gaugesOf(registry: Registry) {
  const gauge = (name: string, help: string, value: () => number | Promise<number>) =>
    readGauge({ registry, name: `tidegate_gateway_${name}`, help }, value);
  const limited = (name: string, help: string, value: () => number | Promise<number>, max: number) => {
    gauge(name, help, value);
    gauge(`${name}_max`, `Limit of tidegate_gateway_${name}`, () => max);
  };
  return { gauge, limited };
}

/** Models that are in use come first, so that the bound leaves out idle ones. */
function observeModels(registry: Registry, { catalog, activity, waker, replicas }: Gateway): void {
  const shown = (): CatalogModel[] => {
    const models = [...catalog.all()];
    if (models.length <= MAX_MODELS) return models;
    const use = ({ modelId }: CatalogModel) => activity.inFlight(modelId);
    return models.sort((a, b) => use(b) - use(a)).slice(0, MAX_MODELS);
  };
  const labelNames = ['org', 'model'] as const;
  const labelsOf = ({ orgId, name }: CatalogModel) => ({ org: orgId, model: name });
  const perModel = (name: string, help: string, value: (model: CatalogModel) => number) =>
    readGauges({ registry, name: `tidegate_gateway_model_${name}`, help, labelNames }, () =>
      shown().map((model) => [labelsOf(model), value(model)] as const),
    );
  perModel(
    'requests_in_flight',
    'Completions that passed validation and have not ended, by model',
    ({ modelId }) => activity.inFlight(modelId),
  );
  perModel('waiters', 'Requests that wait for the model to wake', ({ modelId }) => waker.waiting(modelId));
  const help =
    'Replicas of a running model, by state: usable, or ejected for a while because calls to it failed';
  readGauges(
    { registry, name: 'tidegate_gateway_model_replicas', help, labelNames: [...labelNames, 'state'] },
    () =>
      shown().flatMap((model) => {
        const ejected = model.replicas.filter((replica) => replicas.isEjected(model, replica)).length;
        const labels = labelsOf(model);
        return [
          [{ ...labels, state: 'ejected' }, ejected] as const,
          [{ ...labels, state: 'usable' }, model.replicas.length - ejected] as const,
        ];
      }),
  );
}
