const S = 1_000;
const MINUTE = 60 * S;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Clocks differ a little, so something this recent may seem to be in the future. */
const NOW_MS = 45 * S;
const MAX_DAYS = 30;

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** `just now`, `5 minutes ago`, `3 days ago`. Null: it is older than 30 days, or in the future. */
export function ago(atMs: number, nowMs: number): string | null {
  const passed = nowMs - atMs;
  if (passed < -NOW_MS || passed >= MAX_DAYS * DAY) return null;
  if (passed < NOW_MS) return 'just now';
  if (passed < HOUR) return RELATIVE.format(-Math.max(1, Math.floor(passed / MINUTE)), 'minute');
  if (passed < DAY) return RELATIVE.format(-Math.floor(passed / HOUR), 'hour');
  return RELATIVE.format(-Math.floor(passed / DAY), 'day');
}

/** How long something lasted: `12 s`, `5 min`, `3 h`, `2 days`. */
export function span(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.round(ms / S))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  const days = Math.floor(ms / DAY);
  return days === 1 ? '1 day' : `${days} days`;
}
