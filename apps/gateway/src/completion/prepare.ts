import type { CompletionRequest, Refusal } from '@tidegate/contracts';
import type { CatalogModel } from '../catalog/catalog.ts';
import type { WakeOutcome } from '../catalog/wake.ts';
import type { Exchange } from '../http/exchange.ts';
import { COULD_NOT_START, STILL_STARTING } from './condition.ts';
import type { Gateway, ImageFetcher } from './gateway.ts';
import { takeBytes } from './receive-body.ts';
import { INTERNAL_ERROR } from './refusals.ts';

export interface Prepared {
  /** The model as it is now. */
  readonly model: CatalogModel;
  /** Of the linked images, by their index. */
  readonly dataUrls: readonly Buffer[];
}

/**
 * What must be there before the model can be called: its linked images, and itself awake. Both
 * together have the time of one cold start.
 */
export async function prepare(
  gateway: Gateway,
  exchange: Exchange,
  { linkedImages }: CompletionRequest,
  model: CatalogModel,
  wake: boolean,
): Promise<Prepared | Refusal> {
  const { waker, catalog, config } = gateway;
  const startedAtMs = performance.now();
  const fetched = await fetchImages(gateway, exchange, linkedImages);
  if (!fetched.ok) return fetched.refusal;
  const { dataUrls } = fetched;
  if (!wake) return { model, dataUrls };
  const leftMs = Math.max(0, config.COLD_START_MS - (performance.now() - startedAtMs));
  const refusal = refusalOf(await waker.hold(model.modelId, leftMs, exchange.signal));
  return refusal ?? { model: catalog.get(model.modelId) ?? model, dataUrls };
}

async function fetchImages(
  gateway: Gateway,
  exchange: Exchange,
  links: CompletionRequest['linkedImages'],
): ReturnType<ImageFetcher['fetchAll']> {
  if (links.length === 0) return { ok: true, dataUrls: [] };
  const { signal } = exchange;
  try {
    return await gateway.images.fetchAll(links, (bytes) => takeBytes(gateway, exchange, bytes), signal);
  } catch (error) {
    // Nobody waits for them any more.
    if (signal.aborted) return { ok: false, refusal: INTERNAL_ERROR };
    throw error;
  }
}

function refusalOf(outcome: WakeOutcome): Refusal | null {
  if (outcome === 'running') return null;
  return outcome === 'failed' ? COULD_NOT_START : STILL_STARTING;
}
