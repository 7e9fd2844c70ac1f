'use client';

import type { UsageDayView, UsageHourView } from '@tidegate/control';
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { BARS, countAxis, type StepNames, stepNames } from '../ui/bars.ts';
import { counted, whole } from '../ui/numbers.ts';

/** A bar: a UTC day, YYYY-MM-DD, or the hour that begins at an instant, ISO 8601. */
interface UsageBar {
  readonly at: string;
  readonly answered: number;
  readonly errors: number;
}

interface UsageChartProps {
  readonly days: readonly UsageDayView[];
  /** In place of days, if there are any. */
  readonly hours?: readonly UsageHourView[];
  /** Called when a bar is clicked. Only a shortcut, because keys cannot reach a bar. */
  readonly onStep?: (at: string) => void;
}

/** Requests a day or an hour, answered and errors. Screen readers get the same as a table. */
export function UsageChart({ days, hours = [], onStep }: UsageChartProps) {
  const isHours = hours.length > 0;
  const steps: readonly UsageBar[] = isHours
    ? hours.map(({ hour, answered, errors }) => ({ at: hour, answered, errors }))
    : days.map(({ day, answered, errors }) => ({ at: day, answered, errors }));
  const { short, full } = stepNames(isHours);
  return (
    <div className="h-70 px-3 pb-4 sm:px-4">
      <div className="mb-2 flex gap-4 px-2 text-xs text-muted" aria-hidden>
        <Legend color="bg-(--chart-answered)" name="Answered" />
        <Legend color="bg-(--chart-errors)" name="Errors" />
      </div>
      <div className="h-60" aria-hidden>
        <Bars steps={steps} short={short} full={full} {...(onStep ? { onStep } : {})} />
      </div>
      <StepsTable steps={steps} isHours={isHours} full={full} />
    </div>
  );
}

interface BarsProps extends StepNames, Pick<UsageChartProps, 'onStep'> {
  readonly steps: readonly UsageBar[];
}

function Bars({ steps, short, full, onStep }: BarsProps) {
  const clicks = onStep
    ? { onClick: (bar: { payload?: UsageBar }) => bar.payload && onStep(bar.payload.at), cursor: 'pointer' }
    : {};
  const bar = { stackId: 'requests', ...BARS.bar, ...clicks };
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart data={[...steps]} {...BARS.chart}>
        <CartesianGrid {...BARS.grid} />
        <XAxis dataKey="at" tickFormatter={short} {...BARS.timeAxis} />
        <YAxis {...countAxis(Math.max(...steps.map(({ answered, errors }) => answered + errors)))} />
        <Tooltip
          {...BARS.tooltip}
          content={(props: TooltipProps) => <StepTooltip {...props} full={full} />}
        />
        <Bar dataKey="answered" fill="var(--chart-answered)" {...bar} />
        <Bar dataKey="errors" fill="var(--chart-errors)" {...bar} radius={[3, 3, 0, 0]} />
      </BarChart>
    </ResponsiveContainer>
  );
}

function StepsTable({ steps, isHours, full }: Pick<BarsProps, 'steps' | 'full'> & { isHours: boolean }) {
  return (
    // A table would be as high as its rows, and so would the page.
    <div className="sr-only">
      <table>
        <caption>Requests per {isHours ? 'hour' : 'day'}</caption>
        <thead>
          <tr>
            <th scope="col">{isHours ? 'Hour' : 'Day'}</th>
            <th scope="col">Answered</th>
            <th scope="col">Errors</th>
          </tr>
        </thead>
        <tbody>
          {steps.map(({ at, answered, errors }) => (
            <tr key={at}>
              <th scope="row">{isHours ? full(at) : at}</th>
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

interface TooltipProps {
  readonly active?: boolean;
  readonly payload?: readonly { readonly payload?: UsageBar }[];
}

function StepTooltip({ active, payload, full }: TooltipProps & Pick<BarsProps, 'full'>) {
  const step = payload?.[0]?.payload;
  if (!active || !step) return null;
  return (
    <div className="rounded-xl border border-border bg-overlay px-3 py-2 text-xs shadow-md">
      <p className="font-medium">{full(step.at)} UTC</p>
      <p className="mt-1 text-muted tabular-nums">{whole(step.answered)} answered</p>
      <p className="text-muted tabular-nums">{counted(step.errors, 'error')}</p>
    </div>
  );
}
