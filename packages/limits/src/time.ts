export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const MONTH = /^(\d{4})-(\d{2})$/;

/** The UTC month of an instant, `YYYY-MM`. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** The latest answer of `dayOf`. Formatting a date is slow. */
let latest = { dayNumber: Number.NaN, day: '' };

/** The UTC day of an instant, `YYYY-MM-DD`. Fast if the previous call was for the same day. */
export function dayOf(ms: number): string {
  const dayNumber = Math.floor(ms / DAY_MS);
  if (dayNumber !== latest.dayNumber) latest = { dayNumber, day: new Date(ms).toISOString().slice(0, 10) };
  return latest.day;
}

/** The first instant after a month `YYYY-MM`, in Unix ms. @throws RangeError for anything else */
export function monthEndMs(month: string): number {
  const parts = MONTH.exec(month);
  const number = Number(parts?.[2]);
  if (!parts || number < 1 || number > 12) throw new RangeError(`not a month: ${month}`);
  return Date.UTC(Number(parts[1]), number);
}

/**
 * When a key with this "Expires on" day stops working: 00:00 UTC of the next day.
 * @throws RangeError for a day that does not exist
 */
export function expiryInstantMs(expiresOn: string): number {
  const parts = DAY.exec(expiresOn);
  const startMs = parts ? Date.UTC(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3])) : Number.NaN;
  if (Number.isNaN(startMs) || dayOf(startMs) !== expiresOn) throw new RangeError(`not a day: ${expiresOn}`);
  return startMs + DAY_MS;
}

/** Whole seconds for `Retry-After`, rounded up; at least 1. */
export const retryAfterSeconds = (waitMs: number): number => Math.max(1, Math.ceil(waitMs / 1_000));
