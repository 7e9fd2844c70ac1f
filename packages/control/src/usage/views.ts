import { keyNameOf } from '../keys/view.ts';
import { percentilesOf, together } from './histogram.ts';
import type { Histograms, ModelUsage, PairUsage } from './read.ts';
import { countsOf, type UsageCounts } from './sums.ts';

/**
 * Estimates from histograms, within 5 %. Null: no time is known, or the usage is that of one key.
 */
export interface TimePercentiles {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** Of streams: the time to the first chunk. */
  readonly firstChunkP50Ms: number | null;
  readonly firstChunkP95Ms: number | null;
}

export interface UsageStepView extends UsageCounts {
  /** The UTC day of the reservations, YYYY-MM-DD, or the first instant of their hour, ISO 8601. */
  readonly step: string;
  /** `requests` minus `errors`. */
  readonly answered: number;
}

export interface UsageModelView extends UsageCounts, TimePercentiles {
  readonly modelId: string;
  readonly model: string;
  /** The model is no longer published. */
  readonly modelDeleted: boolean;
}

export interface UsageRowView extends UsageCounts {
  readonly keyId: string;
  /** The key's name, or `A deleted key`. All page keys are one: `Try it`. */
  readonly key: string;
  /** The key's first characters. Null: it is deleted, or stands for all page keys. */
  readonly keyPrefix: string | null;
  readonly modelId: string;
  readonly model: string;
  /** The model is no longer published. */
  readonly modelDeleted: boolean;
}

export const rowsOf = (pairs: readonly PairUsage[]): UsageRowView[] =>
  pairs.map((pair) => {
    const counts = countsOf(pair.sums);
    // Written out: there may be thousands, and copies of objects are slow.
    return {
      keyId: pair.keyId,
      key: keyNameOf(pair.keyId, pair.key),
      keyPrefix: pair.keyPrefix,
      modelId: pair.modelId,
      model: pair.model ?? pair.modelId,
      modelDeleted: pair.modelDeleted,
      requests: counts.requests,
      errors: counts.errors,
      promptTokens: counts.promptTokens,
      completionTokens: counts.completionTokens,
      reservedTokens: counts.reservedTokens,
      averageMs: counts.averageMs,
    };
  });

export const modelsOf = (
  models: readonly ModelUsage[],
  times: ReadonlyMap<string, Histograms>,
): UsageModelView[] =>
  models.map(({ modelId, model, modelDeleted, sums }) => ({
    modelId,
    model: model ?? modelId,
    modelDeleted,
    ...countsOf(sums),
    ...timesOf(times.get(modelId)),
  }));

export function timesOf({ durations, firstChunks }: Histograms = NO_TIMES): TimePercentiles {
  const first = percentilesOf(firstChunks);
  return { ...percentilesOf(durations), firstChunkP50Ms: first.p50Ms, firstChunkP95Ms: first.p95Ms };
}

/** The histograms of all models together. */
export const allTimes = (times: Iterable<Histograms>): Histograms => {
  const all = [...times];
  return {
    durations: together(all.map(({ durations }) => durations)),
    firstChunks: together(all.map(({ firstChunks }) => firstChunks)),
  };
};

const NO_TIMES: Histograms = { durations: [], firstChunks: [] };
