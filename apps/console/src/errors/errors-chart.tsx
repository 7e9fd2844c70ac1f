'use client';

import type { ErrorsView } from '@tidegate/control';
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { BARS, countAxis, type StepNames, stepNames } from '../ui/bars.ts';
import { whole } from '../ui/numbers.ts';
import { type BarOf, type CountedSteps, type Series, seriesOf } from './series.ts';

interface ErrorsChartProps {
  readonly errors: CountedSteps & Pick<ErrorsView, 'step'>;
  /** The caption of the table. */
  readonly caption: string;
}

/** Counts by code over time. Screen readers get the same as a table. */
export function ErrorsChart({ errors, caption }: ErrorsChartProps) {
  const { series, bars } = seriesOf(errors);
  const isHours = errors.step === 'hour';
  const { short, full } = stepNames(isHours);
  return (
    <div className="px-3 pb-4 sm:px-4">
      <div className="mb-2 flex min-h-4 flex-wrap gap-x-4 gap-y-1 px-2 text-xs text-muted" aria-hidden>
        {series.map(({ name, color }) => (
          <span key={name} className="inline-flex items-center gap-1.5">
            <span className="size-2.5 rounded-[3px]" style={{ background: color }} />
            {name}
          </span>
        ))}
      </div>
      <div className="h-60" aria-hidden>
        <Bars series={series} bars={bars} short={short} full={full} />
      </div>
      <OverTime caption={caption} series={series} bars={bars} full={full} first={isHours ? 'Hour' : 'Day'} />
    </div>
  );
}

interface Drawn extends StepNames {
  readonly series: readonly Series[];
  readonly bars: readonly BarOf[];
}

function Bars({ series, bars, short, full }: Drawn) {
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart data={[...bars]} {...BARS.chart}>
        <CartesianGrid {...BARS.grid} />
        <XAxis dataKey="at" tickFormatter={short} {...BARS.timeAxis} />
        <YAxis {...countAxis(Math.max(...bars.map(({ total }) => total)))} />
        <Tooltip
          {...BARS.tooltip}
          content={(props: TooltipProps) => <StepTooltip {...props} series={series} full={full} />}
        />
        {series.map(({ name, color }, i) => (
          <Bar
            key={name}
            name={name}
            dataKey={(bar: BarOf) => bar.heights[i] ?? 0}
            stackId="errors"
            fill={color}
            {...BARS.bar}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  );
}

interface TooltipProps {
  readonly active?: boolean;
  readonly payload?: readonly { readonly payload?: BarOf }[];
}

function StepTooltip({ active, payload, series, full }: TooltipProps & Pick<Drawn, 'series' | 'full'>) {
  const bar = payload?.[0]?.payload;
  if (!active || !bar) return null;
  return (
    <div className="rounded-xl border border-border bg-overlay px-3 py-2 text-xs shadow-md">
      <p className="font-medium">{full(bar.at)} UTC</p>
      {series.map(({ name }, i) =>
        bar.heights[i] ? (
          <p key={name} className="mt-1 text-muted tabular-nums">
            {whole(bar.heights[i])} {name}
          </p>
        ) : null,
      )}
    </div>
  );
}

interface OverTimeProps extends Omit<Drawn, 'short'> {
  readonly caption: string;
  readonly first: string;
}

function OverTime({ caption, series, bars, full, first }: OverTimeProps) {
  return (
    // A table would be as wide as its text, and so would the page.
    <div className="sr-only">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{first}</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {bars.map(({ at, heights }) => (
            <tr key={at}>
              <th scope="row">{full(at)}</th>
              {series.map(({ name }, i) => (
                <td key={name}>{whole(heights[i] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
