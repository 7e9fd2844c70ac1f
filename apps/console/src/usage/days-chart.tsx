'use client';

import type { UsageDayView } from '@tidegate/control';
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { BARS } from '../ui/bars.ts';
import { whole } from '../ui/numbers.ts';

const SHORT = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });
const shortDay = (day: string): string => SHORT.format(new Date(`${day}T00:00:00Z`));

interface DaysChartProps {
  readonly days: readonly UsageDayView[];
  /** Called when the bar of a day is clicked. Only a short cut, because keys cannot reach a bar. */
  readonly onDay?: (day: string) => void;
}

/** Requests a day, answered and errors. Screen readers get the same as a table. */
export function DaysChart({ days, onDay }: DaysChartProps) {
  const clicks = onDay
    ? {
        onClick: (bar: { payload?: UsageDayView }) => bar.payload && onDay(bar.payload.day),
        cursor: 'pointer',
      }
    : {};
  return (
    <div className="h-70 px-3 pb-4 sm:px-4">
      <div className="mb-2 flex gap-4 px-2 text-xs text-muted" aria-hidden>
        <Legend color="bg-(--chart-answered)" name="Answered" />
        <Legend color="bg-(--chart-errors)" name="Errors" />
      </div>
      <div className="h-60" aria-hidden>
        <ResponsiveContainer width="100%" height="100%">
          <BarChart data={[...days]} {...BARS.chart}>
            <CartesianGrid {...BARS.grid} />
            <XAxis dataKey="day" tickFormatter={shortDay} {...BARS.timeAxis} />
            <YAxis {...BARS.countAxis} />
            <Tooltip {...BARS.tooltip} content={DayTooltip} />
            <Bar
              dataKey="answered"
              stackId="requests"
              fill="var(--chart-answered)"
              {...BARS.bar}
              {...clicks}
            />
            <Bar
              dataKey="errors"
              stackId="requests"
              fill="var(--chart-errors)"
              {...BARS.bar}
              {...clicks}
              radius={[3, 3, 0, 0]}
            />
          </BarChart>
        </ResponsiveContainer>
      </div>
      <table className="sr-only">
        <caption>Requests per day</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Answered</th>
            <th scope="col">Errors</th>
          </tr>
        </thead>
        <tbody>
          {days.map(({ day, answered, errors }) => (
            <tr key={day}>
              <th scope="row">{day}</th>
              <td>{whole(answered)}</td>
              <td>{whole(errors)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Legend({ color, name }: { color: string; name: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span className={`size-2.5 rounded-[3px] ${color}`} />
      {name}
    </span>
  );
}

interface DayTooltipProps {
  readonly active?: boolean;
  readonly payload?: readonly { readonly payload?: UsageDayView }[];
}

function DayTooltip({ active, payload }: DayTooltipProps) {
  const day = payload?.[0]?.payload;
  if (!active || !day) return null;
  return (
    <div className="rounded-xl border border-border bg-overlay px-3 py-2 text-xs shadow-md">
      <p className="font-medium">{shortDay(day.day)} UTC</p>
      <p className="mt-1 text-muted tabular-nums">{whole(day.answered)} answered</p>
      <p className="text-muted tabular-nums">{whole(day.errors)} errors</p>
    </div>
  );
}
