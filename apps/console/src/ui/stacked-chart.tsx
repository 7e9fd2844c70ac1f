'use client';

import { Bar, BarChart, BarStack, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { BARS, countAxis, type Series, type StackedBar, type StepNames, stepNames } from './bars.ts';
import { whole } from './numbers.ts';

interface StackedChartProps {
  /** The caption of the table. */
  readonly caption: string;
  /** Each bar is an hour, not a day. */
  readonly isHours: boolean;
  /** From the bottom up. */
  readonly series: readonly Series[];
  readonly bars: readonly StackedBar[];
  /** Called when a bar is clicked. Only a shortcut, because keys cannot reach a bar. */
  readonly onStep?: (at: string) => void;
}

/** Counts over time, one bar a day or an hour. Screen readers get the same as a table. */
export function StackedChart({ caption, isHours, series, bars, onStep }: StackedChartProps) {
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
        <Bars series={series} bars={bars} short={short} full={full} {...(onStep ? { onStep } : {})} />
      </div>
      <BarsTable caption={caption} series={series} bars={bars} full={full} first={isHours ? 'Hour' : 'Day'} />
    </div>
  );
}

interface Drawn extends StepNames, Pick<StackedChartProps, 'series' | 'bars' | 'onStep'> {}

function Bars({ series, bars, short, full, onStep }: Drawn) {
  const clicks = onStep
    ? { onClick: (bar: { payload?: StackedBar }) => bar.payload && onStep(bar.payload.at), cursor: 'pointer' }
    : {};
  return (
    <ResponsiveContainer width="100%" height="100%">
      <BarChart data={[...bars]} {...BARS.chart}>
        <CartesianGrid {...BARS.grid} />
        <XAxis dataKey="at" tickFormatter={short} {...BARS.timeAxis} />
        <YAxis {...countAxis(Math.max(...bars.map(({ total }) => total)))} />
        <Tooltip
          {...BARS.tooltip}
          content={(props: TooltipProps) => <BarTooltip {...props} series={series} full={full} />}
        />
        <BarStack radius={[3, 3, 0, 0]}>
          {series.map(({ name, color }, i) => (
            <Bar
              key={name}
              name={name}
              dataKey={({ heights }: StackedBar) => heights[i] ?? 0}
              fill={color}
              {...BARS.bar}
              {...clicks}
            />
          ))}
        </BarStack>
      </BarChart>
    </ResponsiveContainer>
  );
}

interface TooltipProps {
  readonly active?: boolean;
  readonly payload?: readonly { readonly payload?: StackedBar }[];
}

function BarTooltip({ active, payload, series, full }: TooltipProps & Pick<Drawn, 'series' | 'full'>) {
  const bar = payload?.[0]?.payload;
  if (!active || !bar) return null;
  return (
    <div className="rounded-xl border border-border bg-overlay px-3 py-2 text-xs shadow-md">
      <p className="font-medium">{full(bar.at)} UTC</p>
      {bar.total === 0 ? <p className="mt-1 text-muted">None</p> : null}
      {series.map(({ name }, i) =>
        bar.heights[i] ? (
          <p key={name} className="mt-1 flex justify-between gap-4 text-muted">
            {name}
            <span className="tabular-nums">{whole(bar.heights[i])}</span>
          </p>
        ) : null,
      )}
    </div>
  );
}

interface BarsTableProps extends Pick<StackedChartProps, 'caption' | 'series' | 'bars'> {
  readonly full: StepNames['full'];
  readonly first: string;
}

function BarsTable({ caption, series, bars, full, first }: BarsTableProps) {
  return (
    // A table would be as wide and as high as its text, and so would the page.
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
