import {
  type CounterCell,
  CounterCells,
  type HistogramCell,
  HistogramCells,
  type Registry,
} from '@tidegate/runtime';
import type { Catalog, CatalogModel } from '../catalog/catalog.ts';
import type { RequestFacts } from './facts.ts';
import { recordOf } from './record-of.ts';

/** Models with series of their own. All others share the series `other`. */
export const MAX_MODELS = 200;
const OTHER = 'other';

/** `failed`: the request was counted, but the model could not be called, or it failed. */
const RESULTS = ['answered', 'refused', 'failed', 'broken_off', 'aborted'] as const;
export type RequestResult = (typeof RESULTS)[number];

const FIRST_CHUNK_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TOKEN_S = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.2, 0.5, 1];

/** The series of one model. */
interface Meter {
  readonly whole: Readonly<Record<RequestResult, CounterCell>>;
  readonly streamed: Readonly<Record<RequestResult, CounterCell>>;
  readonly promptTokens: CounterCell;
  readonly completionTokens: CounterCell;
  readonly firstChunk: HistogramCell;
  readonly token: HistogramCell;
}

/**
 * What operators see of each model. The number of series is bounded: the first `MAX_MODELS` models
 * keep series of their own until they are deleted.
 */
export class ModelMeters {
  readonly #catalog: Catalog;
  readonly #maxModels: number;
  /**
   * By organization and name. A model that takes the name of a deleted one continues its series.
   */
  readonly #named = new Map<string, { readonly model: CatalogModel; readonly meter: Meter }>();
  /** Most requests find their meter here, without building a key. */
  #known = new WeakMap<CatalogModel, Meter>();
  readonly #completions: CounterCells<'org' | 'model' | 'streamed' | 'result'>;
  readonly #tokens: CounterCells<'org' | 'model' | 'kind'>;
  readonly #firstChunk: HistogramCells<'org' | 'model'>;
  readonly #token: HistogramCells<'org' | 'model'>;

  constructor(registry: Registry, catalog: Catalog, maxModels = MAX_MODELS) {
    this.#catalog = catalog;
    this.#maxModels = maxModels;
    this.#completions = new CounterCells({
      registry,
      name: 'tidegate_gateway_completions_total',
      help: 'Completions that named a model, by model, whether streamed, and how they ended. `failed` means that the request was counted, but the model could not be called, or failed before its answer began',
      labelNames: ['org', 'model', 'streamed', 'result'],
      collect: () => this.#followCatalog(),
    });
    this.#tokens = new CounterCells({
      registry,
      name: 'tidegate_gateway_tokens_total',
      help: 'Tokens that models reported for complete answers, by kind: prompt or completion',
      labelNames: ['org', 'model', 'kind'],
    });
    this.#firstChunk = new HistogramCells({
      registry,
      name: 'tidegate_gateway_first_chunk_seconds',
      help: 'From the head of the request to the first chunk of a stream',
      labelNames: ['org', 'model'],
      buckets: FIRST_CHUNK_S,
    });
    this.#token = new HistogramCells({
      registry,
      name: 'tidegate_gateway_token_seconds',
      help: 'Time per output token after the first chunk, over one complete stream',
      labelNames: ['org', 'model'],
      buckets: TOKEN_S,
    });
  }

  ended(model: CatalogModel, result: RequestResult, facts: RequestFacts): void {
    const meter = this.#known.get(model) ?? this.#find(model);
    const { usage, firstChunkAtMs, answeredAtMs } = facts;
    (facts.streamed ? meter.streamed : meter.whole)[result].value++;
    if (usage) {
      meter.promptTokens.value += usage.promptTokens;
      meter.completionTokens.value += usage.completionTokens;
    }
    if (firstChunkAtMs === null) return;
    meter.firstChunk.observe((firstChunkAtMs - facts.startedAtMs) / 1_000);
    if (result === 'answered' && usage && usage.completionTokens > 1 && answeredAtMs !== null)
      meter.token.observe((answeredAtMs - firstChunkAtMs) / 1_000 / (usage.completionTokens - 1));
  }

  #find(model: CatalogModel): Meter {
    const key = keyOf(model);
    let meter = this.#named.get(key)?.meter;
    if (!meter) {
      const full = this.#named.size >= this.#maxModels;
      meter = full ? this.#create(OTHER, OTHER) : this.#create(model.orgId, model.name);
      if (!full) this.#named.set(key, { model, meter });
    }
    this.#known.set(model, meter);
    return meter;
  }

  #create(org: string, model: string): Meter {
    const results = (streamed: string) =>
      recordOf(RESULTS, (result) => this.#completions.cell(org, model, streamed, result));
    return {
      whole: results('false'),
      streamed: results('true'),
      promptTokens: this.#tokens.cell(org, model, 'prompt'),
      completionTokens: this.#tokens.cell(org, model, 'completion'),
      firstChunk: this.#firstChunk.cell(org, model),
      token: this.#token.cell(org, model),
    };
  }

  /**
   * Makes room for other models. If there is room for all, their series begin before their first
   * request, so that alerts see the first failure as a rise.
   */
  #followCatalog(): void {
    for (const [key, { model }] of this.#named) {
      const { orgId, name } = model;
      if (this.#catalog.find(orgId, name)) continue;
      this.#named.delete(key);
      for (const cells of [this.#completions, this.#tokens, this.#firstChunk, this.#token])
        cells.drop(orgId, name);
      this.#known = new WeakMap();
    }
    const models = [...this.#catalog.all()];
    if (models.length <= this.#maxModels) for (const model of models) this.#find(model);
  }
}

const keyOf = ({ orgId, name }: CatalogModel): string => `${orgId} ${name}`;
