'use client';

import type { UsageDayView, UsageHourView } from '@tidegate/control';
import { StackedChart } from '../ui/stacked-chart.tsx';

interface UsageChartProps {
  readonly days: readonly UsageDayView[];
  /** In place of days, if there are any. */
  readonly hours?: readonly UsageHourView[];
  /** Called with the day or the first instant of the hour that is clicked. */
  readonly onStep: (at: string) => void;
}

const SERIES = [
  { name: 'Answered', color: 'var(--chart-answered)' },
  { name: 'Errors', color: 'var(--chart-errors)' },
];

/** Requests a day or an hour, answered and errors. */
export function UsageChart({ days, hours = [], onStep }: UsageChartProps) {
  const isHours = hours.length > 0;
  const bars = isHours
    ? hours.map(({ hour, ...counts }) => barOf(hour, counts))
    : days.map(({ day, ...counts }) => barOf(day, counts));
  return (
    <StackedChart
      caption={`Requests per ${isHours ? 'hour' : 'day'}`}
      isHours={isHours}
      series={SERIES}
      bars={bars}
      onStep={onStep}
    />
  );
}

const barOf = (at: string, { answered, errors }: { answered: number; errors: number }) => ({
  at,
  heights: [answered, errors],
  total: answered + errors,
});
