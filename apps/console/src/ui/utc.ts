const DAY = { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' } as const;
const DAYS = new Intl.DateTimeFormat('en-GB', DAY);
const MINUTES = new Intl.DateTimeFormat('en-GB', {
  ...DAY,
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** `23 Nov 2026` for a UTC day, YYYY-MM-DD. `23 Nov 2026, 04:15 UTC` for an instant, ISO 8601. */
export function timeText(iso: string): string {
  const at = new Date(iso);
  return iso.length === 'YYYY-MM-DD'.length ? DAYS.format(at) : `${MINUTES.format(at)} UTC`;
}
