import type { UsageMonth } from '@tidegate/control';
import { percentOf, whole } from '../ui/numbers.ts';
import { Panel } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { forecastsOf } from './forecast.ts';

const MONTH = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', month: 'long', year: 'numeric' });

/** How much of the plan's month is left, and how long it lasts. */
export function MonthPanel({ month, nowMs }: { month: UsageMonth; nowMs: number }) {
  const { tokens, requests, requestsCap } = month;
  const forecasts = forecastsOf(month, nowMs);
  return (
    <Panel
      title={`${MONTH.format(new Date(`${month.month}-01T00:00:00Z`))}, whole organization`}
      lead={
        <>
          All keys and models together, against the plan. <MonthNote what="Counting starts" month={month} />
        </>
      }
    >
      <div className="grid gap-x-10 gap-y-6 px-5 pt-1 pb-5 md:grid-cols-2">
        <Quota
          name="Requests"
          parts={[{ name: 'used', value: requests, color: 'bg-accent' }]}
          cap={requestsCap}
          forecast={forecasts.requests}
        />
        <Quota
          name="Tokens"
          parts={[
            { name: 'used', value: tokens.charged, color: 'bg-accent' },
            { name: 'reserved by requests in progress', value: tokens.reserved, color: 'bg-accent/40' },
          ]}
          cap={tokens.cap}
          forecast={forecasts.tokens}
        />
      </div>
    </Panel>
  );
}

/**
 * When the month's counts start again, and what they leave out while the limiter is unavailable.
 */
export function MonthNote({ what, month }: { what: string; month: UsageMonth }) {
  return (
    <>
      {what} again on <Time iso={month.resetsAt} />.
      {month.live ? '' : ' Live counts are not available right now: only settled requests are shown.'}
    </>
  );
}

export interface QuotaProps {
  readonly name: string;
  readonly parts: readonly { readonly name: string; readonly value: number; readonly color: string }[];
  readonly cap: number;
  /** How long it lasts. */
  readonly forecast?: string;
}

export function Quota({ name, parts, cap, forecast }: QuotaProps) {
  const taken = parts.reduce((sum, { value }) => sum + value, 0);
  const left = Math.max(0, cap - taken);
  return (
    <div>
      <div className="flex flex-wrap items-baseline justify-between gap-x-3 text-sm md:max-xl:flex-col">
        <span className="font-medium">{name}</span>
        <span className="text-[0.8125rem] whitespace-nowrap text-muted tabular-nums">
          {whole(left)} of {whole(cap)} left
        </span>
      </div>
      <div className="mt-2 flex h-2 gap-px overflow-hidden rounded-full bg-default" aria-hidden>
        {parts.map(({ name: part, value, color }) => (
          <span key={part} className={color} style={{ width: `${percentOf(value, cap)}%` }} />
        ))}
      </div>
      <p className="mt-2 text-xs text-muted tabular-nums">
        {parts.map(({ name: part, value }) => `${whole(value)} ${part}`).join(' · ')}
      </p>
      {forecast ? <p className="mt-1 text-xs text-muted">{forecast}</p> : null}
    </div>
  );
}
