import { compact } from './numbers.ts';

const TICK = { fontSize: 11, fill: 'var(--muted)' };

/** What all bar charts over time have in common: properties of recharts' components. */
export const BARS = {
  chart: {
    margin: { top: 4, right: 8, bottom: 0, left: 0 },
    barCategoryGap: '18%',
    accessibilityLayer: false,
  },
  grid: { vertical: false, stroke: 'var(--separator)' },
  timeAxis: { tick: TICK, tickLine: false, axisLine: { stroke: 'var(--border)' }, minTickGap: 28 },
  countAxis: {
    ...{ tickFormatter: compact, tick: TICK, tickLine: false },
    ...{ axisLine: false, width: 40, allowDecimals: false },
  },
  tooltip: { cursor: { fill: 'var(--default)', opacity: 0.6 }, isAnimationActive: false },
  bar: { maxBarSize: 26, isAnimationActive: false },
} as const;
