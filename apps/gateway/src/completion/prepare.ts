import type { CompletionRequest } from '@tidegate/contracts';
import type { CatalogModel } from '../catalog/catalog.ts';
import { type EarlyEnd, endsEarly } from '../ending.ts';
import type { Gateway } from '../gateway.ts';
import type { DataUrls } from '../images/fetch.ts';
import type { Completion } from './completion.ts';
import { COULD_NOT_START, checkCondition, STILL_STARTING, STOPPED } from './condition.ts';
import { MODEL_NOT_FOUND } from './find-model.ts';

export interface PrepareInput {
  readonly model: CatalogModel;
  readonly linkedImages: CompletionRequest['linkedImages'];
}

export interface Prepared {
  /** The model as it is now. */
  readonly model: CatalogModel;
  /** The linked images, in the order of the links. */
  readonly dataUrls: DataUrls;
}

/**
 * Prepares what the call needs: downloads linked images and wakes the model. Together they may take
 * as long as one cold start. A model that was stopped, deleted or put to sleep meanwhile is treated
 * as if the request had come afterwards.
 */
export async function prepare(
  gateway: Gateway,
  completion: Completion,
  { model, linkedImages }: PrepareInput,
): Promise<Prepared | EarlyEnd> {
  const startedAtMs = performance.now();
  const dataUrls = await fetchImages(gateway, completion, linkedImages);
  if (endsEarly(dataUrls)) return dataUrls;
  const current = gateway.catalog.get(model.modelId);
  if (!current) return MODEL_NOT_FOUND;
  const readiness = checkCondition(current);
  if (endsEarly(readiness)) return readiness;
  if (readiness === 'ready') return { model: current, dataUrls };
  const leftMs = Math.max(0, gateway.config.COLD_START_MS - (performance.now() - startedAtMs));
  const awake = await wakeUp(gateway, completion, model, leftMs);
  return endsEarly(awake) ? awake : { model: awake, dataUrls };
}

async function fetchImages(
  { images, observer }: Gateway,
  { exchange, held }: Completion,
  links: CompletionRequest['linkedImages'],
): Promise<DataUrls | EarlyEnd> {
  if (links.length === 0) return [];
  observer.enter(exchange, 'images');
  try {
    return await images.fetchAll(links, (bytes) => held.takeBytes(bytes), exchange.signal);
  } catch (error) {
    if (exchange.aborted) return exchange.aborted;
    throw error;
  }
}

async function wakeUp(
  { waker, catalog, observer }: Gateway,
  { exchange }: Completion,
  model: CatalogModel,
  waitMs: number,
): Promise<CatalogModel | EarlyEnd> {
  observer.enter(exchange, 'wake');
  const asker = {
    requestId: exchange.requestId,
    traceparent: exchange.trace?.onward,
    arrivedAtMs: exchange.facts.startedAtMs,
  };
  const outcome = await waker.wait(model.modelId, waitMs, exchange.signal, asker);
  if (exchange.aborted) return exchange.aborted;
  if (outcome === 'stopped') return STOPPED;
  // An owner may have deleted the model while the request was waiting for it.
  if (outcome === 'failed') return catalog.get(model.modelId) ? COULD_NOT_START : MODEL_NOT_FOUND;
  if (outcome === 'starting') return STILL_STARTING;
  return catalog.get(model.modelId) ?? MODEL_NOT_FOUND;
}
