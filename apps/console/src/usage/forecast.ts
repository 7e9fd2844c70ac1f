import type { UsageMonth } from '@tidegate/control';
import { DAY_MS } from '@tidegate/limits';

const DATE = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });

/**
 * The shares of a quota, from 0 to 1, from which users are warned, and from which the warning is
 * urgent.
 */
const TOLD_FROM = 0.8;
const URGENT_FROM = 0.95;

/** The span of a month and the current time, in Unix ms. */
export interface MonthSoFar {
  readonly startMs: number;
  readonly endMs: number;
  readonly nowMs: number;
}

/**
 * When a quota is used up if use continues as it has since the month began, in Unix ms, and not
 * before now. `lasts`: not before the month ends. Null: too early to tell, or nothing is used.
 */
export function usedUpAt(
  used: number,
  cap: number,
  { startMs, endMs, nowMs }: MonthSoFar,
): number | 'lasts' | null {
  const elapsedMs = nowMs - startMs;
  if (used <= 0) return null;
  if (used >= cap) return nowMs;
  if (elapsedMs < DAY_MS) return null;
  const atMs = startMs + Math.ceil((cap / used) * elapsedMs);
  return atMs < endMs ? Math.max(atMs, nowMs) : 'lasts';
}

export interface MonthQuota {
  readonly name: 'requests' | 'tokens';
  readonly used: number;
  readonly cap: number;
}

/** The month's quotas. Tokens that open requests have reserved count as used. */
const quotasOf = ({ requests, requestsCap, tokens }: UsageMonth): readonly MonthQuota[] => [
  { name: 'requests', used: requests, cap: requestsCap },
  { name: 'tokens', used: tokens.charged + tokens.reserved, cap: tokens.cap },
];

const spanOf = ({ month, resetsAt }: UsageMonth, nowMs: number): MonthSoFar => ({
  startMs: Date.parse(`${month}-01T00:00:00Z`),
  endMs: Date.parse(resetsAt),
  nowMs,
});

/** What to expect of each quota until the month ends, as a sentence. */
export function forecastsOf(month: UsageMonth, nowMs: number): Readonly<Record<MonthQuota['name'], string>> {
  const sentences = quotasOf(month).map(({ name, used, cap }) => [
    name,
    sentenceOf(name, used >= cap, usedUpAt(used, cap, spanOf(month, nowMs))),
  ]);
  return Object.fromEntries(sentences);
}

function sentenceOf(name: string, isFull: boolean, atMs: number | 'lasts' | null): string {
  if (isFull) return `The month's ${name} are used up.`;
  if (atMs === null) return `Too early to say how long the month's ${name} will last.`;
  if (atMs === 'lasts') return `At this pace, the month's ${name} will last.`;
  return `At this pace, the month's ${name} will be used up on ${DATE.format(atMs)}.`;
}

export interface QuotaBanner {
  readonly name: MonthQuota['name'];
  readonly kind: 'warning' | 'danger';
  /** How much is used and what follows. */
  readonly text: string;
}

/** The quotas of which little or nothing is left, in the words that users see. */
export function bannersOf(month: UsageMonth, nowMs: number): readonly QuotaBanner[] {
  const forecasts = forecastsOf(month, nowMs);
  const until = DATE.format(Date.parse(month.resetsAt));
  return quotasOf(month).flatMap(({ name, used, cap }): QuotaBanner[] => {
    const share = cap <= 0 ? 1 : used / cap;
    if (share < TOLD_FROM) return [];
    const kind = share < URGENT_FROM ? 'warning' : 'danger';
    const taken = name === 'tokens' ? 'used or reserved' : 'used';
    const percent = Math.min(100, Math.floor(share * 100));
    const first = `${percent}% of the whole organization's ${name} for the month are ${taken}.`;
    const forecast = share < 1 ? ` ${forecasts[name]}` : '';
    const enough =
      name === 'tokens' ? 'A request that needs more than is left' : 'Any request beyond the quota';
    return [{ name, kind, text: `${first}${forecast} ${enough} is refused until ${until}.` }];
  });
}
