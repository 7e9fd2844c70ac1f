/*
 * Histograms of times, as the database adds them up: one number each (docs/adr/0015). Bucket b has
 * the times from 2^(b/8) to 2^((b+1)/8) ms, and its count is 12 decimal digits of the number.
 */

const DIGITS = 12;
const BUCKETS_AN_OCTAVE = 8;

/** How many requests are in each bucket, fastest first. */
export type Histogram = readonly number[];

export interface Percentiles {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** @param text the number; null if no time is known */
export function histogramFrom(text: string | null): Histogram {
  const counts: number[] = [];
  for (let end = text?.length ?? 0; end > 0; end -= DIGITS)
    counts.push(Number(text?.slice(Math.max(0, end - DIGITS), end)));
  return counts;
}

export const together = (histograms: readonly Histogram[]): Histogram =>
  Array.from({ length: Math.max(0, ...histograms.map(({ length }) => length)) }, (_, bucket) =>
    histograms.reduce((sum, counts) => sum + (counts[bucket] ?? 0), 0),
  );

/**
 * The middles of the buckets that the percentiles fall into, so within 5 % of the exact ones. Null:
 * no times.
 */
export const percentilesOf = (counts: Histogram): Percentiles => ({
  p50Ms: at(counts, 0.5),
  p95Ms: at(counts, 0.95),
});

function at(counts: Histogram, share: number): number | null {
  const rank = Math.ceil(share * counts.reduce((sum, count) => sum + count, 0));
  let passed = 0;
  for (const [bucket, count] of counts.entries()) {
    passed += count;
    if (count > 0 && passed >= rank) return Math.round(2 ** ((bucket + 0.5) / BUCKETS_AN_OCTAVE));
  }
  return null;
}
