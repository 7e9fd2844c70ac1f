/** Exact at each line of a grid, such as 1.25M. */
const COUNT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 2 });
const TICK = { fontSize: 11, fill: 'var(--muted)' };

/** What all bar charts over time have in common: properties of recharts' components. */
export const BARS = {
  chart: {
    // Room for half of the highest count and half of the last time.
    margin: { top: 12, right: 16, bottom: 0, left: 0 },
    barCategoryGap: '18%',
    accessibilityLayer: false,
  },
  grid: { vertical: false, stroke: 'var(--separator)' },
  timeAxis: { tick: TICK, tickLine: false, axisLine: { stroke: 'var(--border)' }, minTickGap: 28 },
  countAxis: {
    tickFormatter: (count: number) => COUNT.format(count),
    tick: TICK,
    tickLine: false,
    axisLine: false,
    width: 40,
  },
  tooltip: { cursor: { fill: 'var(--default)', opacity: 0.6 }, isAnimationActive: false },
  bar: { maxBarSize: 26, isAnimationActive: false },
} as const;

/** What one colour of a chart counts. */
export interface Series {
  readonly name: string;
  /** A CSS colour. */
  readonly color: string;
}

/** What a day or an hour of a chart shows. */
export interface StackedBar {
  /** A UTC day, YYYY-MM-DD, or the hour that begins at an instant, ISO 8601. */
  readonly at: string;
  /** One for each series. */
  readonly heights: readonly number[];
  readonly total: number;
}

const STEPS = [1, 2, 2.5, 5, 10];
const MOST_STEPS = 5;

/** The lines of a grid for counts up to `highest`: round whole numbers from 0 on. */
export function countTicks(highest: number): number[] {
  const rough = Math.max(1, highest) / MOST_STEPS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const fits = (step: number) => step >= rough && Number.isInteger(step);
  const step = STEPS.map((each) => each * power).find(fits) ?? 1;
  return Array.from({ length: Math.ceil(Math.max(1, highest) / step) + 1 }, (_, i) => i * step);
}

/** The axis of counts up to `highest`. */
export function countAxis(highest: number) {
  const ticks = countTicks(highest);
  return { ...BARS.countAxis, ticks, domain: [0, ticks.at(-1) ?? 1] };
}

const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });
const HOUR = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'UTC',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

export interface StepNames {
  /** As on the axis. */
  readonly short: (at: string) => string;
  /** With its day. */
  readonly full: (at: string) => string;
}

/** What the bars of days or of hours are called, by their first instant (UTC). */
export function stepNames(isHours: boolean): StepNames {
  const short = (at: string): string => (isHours ? HOUR : DAY).format(new Date(at));
  return { short, full: (at) => (isHours ? `${DAY.format(new Date(at))}, ${short(at)}` : short(at)) };
}
