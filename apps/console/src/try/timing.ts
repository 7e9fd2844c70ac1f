import { duration } from '../ui/numbers.ts';

/** When things happened, in milliseconds of one clock. */
export interface Timing {
  readonly sentAt: number;
  /** The first piece of text. Null: there was none. */
  readonly firstAt: number | null;
  readonly endedAt: number;
}

const MIN_SPAN_MS = 50;

/**
 * `120 ms to the first token · 42.0 tokens/s`. The rate counts the tokens after the first. It is
 * left out when they came too close together to measure.
 */
export function timingText({ sentAt, firstAt, endedAt }: Timing, tokens: number | null): string {
  if (firstAt === null) return '';
  const first = `${duration(firstAt - sentAt)} to the first token`;
  const spanMs = endedAt - firstAt;
  if (tokens === null || tokens < 2 || spanMs < MIN_SPAN_MS) return first;
  return `${first} · ${(((tokens - 1) * 1_000) / spanMs).toFixed(1)} tokens/s`;
}
