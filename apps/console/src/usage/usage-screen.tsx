'use client';

import type { UsageView } from '@tidegate/control';
import Link from 'next/link';
import { useRouter } from 'next/navigation';
import { compact, duration, whole } from '../ui/numbers.ts';
import { Empty, PageHeader, Panel } from '../ui/page.tsx';
import { DaysChart } from './days-chart.tsx';
import { dayQueryOf, isWanted, type Period, queryOf } from './filter.ts';
import { Filters } from './filters.tsx';
import { MonthPanel } from './month-panel.tsx';
import { QuotaNotices } from './quota-notices.tsx';
import { RowsTable } from './rows-table.tsx';

/** The CSV has all days that the screen can show. */
const CSV_DAYS = 30;

interface UsageScreenProps {
  readonly org: string;
  readonly usage: UsageView;
  readonly nowMs: number;
  readonly mayChangePlan: boolean;
  readonly period: Period;
  /** Empty: all keys. */
  readonly keyId: string;
  readonly modelId: string;
}

export function UsageScreen(props: UsageScreenProps) {
  const { org, usage, nowMs, mayChangePlan, period, keyId, modelId } = props;
  const router = useRouter();
  const rows = usage.rows.filter(isWanted({ keyId, modelId }));
  return (
    <>
      <PageHeader
        title="Usage"
        lead={`The last ${period.days} days (UTC). A request counts when capacity is reserved just before the model is called; refused ones do not.`}
        actions={
          <a
            href={`/o/${org}/usage/csv${queryOf({ keyId, modelId })}`}
            download
            className="button button--secondary gap-2"
          >
            <span className="icon-download size-4" aria-hidden />
            Download CSV{period.days === CSV_DAYS ? '' : ` of ${CSV_DAYS} days`}
          </a>
        }
      />
      <div className="space-y-6">
        <QuotaNotices month={usage.month} nowMs={nowMs}>
          {mayChangePlan ? 'Change to' : 'Ask an owner to change to'} a larger{' '}
          <Link href={`/o/${org}/plan`} className="font-medium text-accent underline underline-offset-4">
            plan
          </Link>
          , or send fewer requests until then.
        </QuotaNotices>
        <Filters {...props} />
        <Totals usage={usage} />
        <Panel title="Requests per day">
          {usage.totals.requests === 0 ? (
            <div className="grid h-70 place-items-center">
              <Empty icon={<span className="icon-chart-column size-5" aria-hidden />} title={noneIn(period)}>
                Requests appear here within seconds of being answered.
              </Empty>
            </div>
          ) : (
            <DaysChart
              days={usage.days}
              onDay={(day) => router.push(`/o/${org}/requests${dayQueryOf({ keyId, modelId }, day)}`)}
            />
          )}
        </Panel>
        <MonthPanel month={usage.month} nowMs={nowMs} />
        <Panel
          title="By key and model"
          lead="Busiest first. Reserved or unreported: the full reservations of requests that ended without a complete answer, or without its token counts."
        >
          <RowsTable rows={rows} hrefOf={(choice) => `/o/${org}/usage${queryOf(choice, period)}`} />
        </Panel>
      </div>
    </>
  );
}

const noneIn = ({ days }: Period) => (days === CSV_DAYS ? 'No requests yet' : `No requests in ${days} days`);

function Totals({ usage: { totals } }: { usage: UsageView }) {
  const share = totals.requests === 0 ? 0 : (totals.errors / totals.requests) * 100;
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-[0.875rem] border border-border bg-border lg:grid-cols-4">
      <Total name="Requests" value={whole(totals.requests)} />
      <Total
        name="Errors"
        value={whole(totals.errors)}
        note={totals.requests > 0 ? `${share.toFixed(share < 10 ? 1 : 0)}% of requests` : undefined}
      />
      <Total
        name="Tokens"
        value={`${compact(totals.promptTokens)} in · ${compact(totals.completionTokens)} out`}
        title={`${whole(totals.promptTokens)} in, ${whole(totals.completionTokens)} out`}
        note={
          totals.reservedTokens > 0
            ? `and ${compact(totals.reservedTokens)} reserved or unreported`
            : undefined
        }
      />
      <Total name="Average time" value={duration(totals.averageMs)} />
    </dl>
  );
}

function Total({
  name,
  value,
  note,
  title,
}: {
  name: string;
  value: string;
  note?: string | undefined;
  title?: string;
}) {
  return (
    <div className="bg-surface px-5 py-4">
      <dt className="text-[0.8125rem] text-muted">{name}</dt>
      <dd className="mt-1 text-xl font-semibold tracking-[-0.02em] tabular-nums" title={title}>
        {value}
      </dd>
      <dd className="mt-1 min-h-8 text-xs leading-4 text-muted xl:min-h-4">{note}</dd>
    </div>
  );
}
