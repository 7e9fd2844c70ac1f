const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

const NO_ROOM = 100_000_000_000;

const MS_A_SECOND = 1_000;
const S_A_MINUTE = 60;
const S_AN_HOUR = 3_600;
/** From here on, two decimals would round to 10.00 s. A tenth of a second is exact enough. */
const ABOUT_TEN_S_MS = 9_995;

/** NaN for other text, such as `1e3`. The server refuses it and says what is allowed. */
export const typedWhole = (typed: string): number => (/^-?\d+$/.test(typed) ? Number(typed) : Number.NaN);

/** 12,345 */
export const whole = (value: number): string => WHOLE.format(value);
/** 1 error, 2 errors */
export const counted = (count: number, unit: string): string =>
  `${whole(count)} ${unit}${count === 1 ? '' : 's'}`;
/** 12.3K */
export const compact = (value: number): string => COMPACT.format(value);
/** 12,345, and 123.5B where a column of a table has no room for all digits. The CSV has them. */
export const inColumn = (value: number): string => (value < NO_ROOM ? whole(value) : compact(value));

/** 840 ms, 1.24 s, 12.4 s. A dash for null. */
export function duration(ms: number | null): string {
  if (ms === null) return '–';
  const wholeMs = Math.round(ms);
  if (wholeMs < MS_A_SECOND) return `${wholeMs} ms`;
  return `${(wholeMs / MS_A_SECOND).toFixed(wholeMs < ABOUT_TEN_S_MS ? 2 : 1)} s`;
}

/** 45 s, 10 min, 2 h */
export function seconds(s: number): string {
  if (s < S_A_MINUTE || s % S_A_MINUTE !== 0) return `${s} s`;
  if (s < S_AN_HOUR || s % S_AN_HOUR !== 0) return `${s / S_A_MINUTE} min`;
  return `${s / S_AN_HOUR} h`;
}

/** A percentage from 0 to 100. A cap of 0 counts as full. */
export const percentOf = (value: number, cap: number): number =>
  cap <= 0 ? 100 : Math.min(100, (value / cap) * 100);

/** `1.5% of requests`, `<0.1% of requests`. Nothing if there are no requests. */
export function share(part: number, requests: number): string | undefined {
  if (requests <= 0) return undefined;
  const percent = (part / requests) * 100;
  const shown = part > 0 && percent < 0.05 ? '<0.1' : percent.toFixed(percent < 9.95 ? 1 : 0);
  return `${shown}% of requests`;
}

/** `p50 840 ms · p95 1.24 s`. Nothing if they are not known. */
export const spread = (p50Ms: number | null, p95Ms: number | null): string | undefined =>
  p50Ms === null ? undefined : `p50 ${duration(p50Ms)} · p95 ${duration(p95Ms)}`;
