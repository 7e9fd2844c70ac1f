'use client';

import type { UsageView } from '@tidegate/control';
import { useRouter } from 'next/navigation';
import { Link } from '../ui/link.tsx';
import { Empty, Note, PageHeader, Panel } from '../ui/page.tsx';
import { stepQueryOf, type UsageChoice, type UsagePeriod, usageQueryOf } from './filter.ts';
import { UsageFilters } from './filters.tsx';
import { ModelUsageTable } from './models-table.tsx';
import { MonthPanel } from './month-panel.tsx';
import type { Options } from './options.ts';
import { QuotaBanners } from './quota-banners.tsx';
import { RowsTable } from './rows-table.tsx';
import { Totals } from './totals.tsx';
import { UsageChart } from './usage-chart.tsx';

const TIMES =
  'Busiest first. Half of the requests took no longer than p50, and 95% no longer than p95; both are within 5% of the exact times. First chunk times are those of streams.';
const TIMES_OF_KEY =
  'Busiest first. p50 and p95 are known only for all keys together: choose all keys to see them.';

interface UsageScreenProps {
  readonly org: string;
  /** Of the chosen key and model. Its rows are the first, or as many as were asked for. */
  readonly usage: UsageView;
  /** How many rows a page can have. */
  readonly maxRows: number;
  /** What is chosen. */
  readonly options: Options;
  /** What is chosen by an id that the organization does not have. */
  readonly missing: readonly ('key' | 'model')[];
  readonly nowMs: number;
  readonly mayChangePlan: boolean;
  readonly period: UsagePeriod;
  /** Empty: all keys. */
  readonly keyId: string;
  readonly modelId: string;
}

export function UsageScreen(props: UsageScreenProps) {
  const { org, usage, maxRows, nowMs, mayChangePlan, period, keyId, modelId } = props;
  const router = useRouter();
  const total = Math.min(usage.rowCount, maxRows);
  const isHours = usage.hours.length > 0;
  const hrefOf = (choice: UsageChoice) => `/o/${org}/usage${usageQueryOf(choice, period)}`;
  return (
    <>
      <PageHeader
        title="Usage"
        lead={`The last ${period.name} (UTC). A request counts from its reservation, just before the model is called; refused ones do not.`}
        actions={
          <a
            href={`/o/${org}/usage/csv${usageQueryOf({ keyId, modelId }, period)}`}
            download
            className="button button--secondary gap-2"
          >
            <span className="icon-download size-4" aria-hidden />
            Download CSV of {period.name}
          </a>
        }
      />
      <div className="space-y-6">
        <QuotaBanners month={usage.month} nowMs={nowMs}>
          {mayChangePlan ? 'Change to' : 'Ask an owner to change to'} a larger{' '}
          <Link href={`/o/${org}/plan`} className="inline-link">
            plan
          </Link>
          , or send fewer requests until then.
        </QuotaBanners>
        <UsageFilters {...props} />
        {props.missing.map((what) => (
          <Note key={what} kind="warning">
            There is no {what} with this id. If there was one, it has been deleted and had no requests in this
            period.
          </Note>
        ))}
        <Totals totals={usage.totals} />
        <Panel title={isHours ? 'Requests per hour' : 'Requests per day'}>
          {usage.totals.requests === 0 ? (
            <div className="grid h-70 place-items-center">
              <Empty
                icon={<span className="icon-chart-column size-5" aria-hidden />}
                title={`No requests in the last ${period.name}`}
              >
                Requests appear here within seconds of being answered.
              </Empty>
            </div>
          ) : (
            <UsageChart
              days={usage.days}
              hours={usage.hours}
              onStep={(at) => router.push(`/o/${org}/requests${stepQueryOf({ keyId, modelId }, at)}`)}
            />
          )}
        </Panel>
        <MonthPanel month={usage.month} nowMs={nowMs} />
        <Panel title="By model" lead={keyId ? TIMES_OF_KEY : TIMES}>
          {/* Room for the first models, so that what is below stays in place when they arrive. */}
          <div className="min-h-56">
            <ModelUsageTable models={usage.models} isOfKey={keyId !== ''} hrefOf={hrefOf} />
          </div>
        </Panel>
        <Panel
          title="By key and model"
          lead="Busiest first. Reserved or unreported: the full reservations of requests that ended without a complete answer, or without its token counts."
        >
          <RowsTable rows={usage.rows} total={total} leftOut={usage.rowCount - total} hrefOf={hrefOf} />
        </Panel>
      </div>
    </>
  );
}
