'use client';

import type { UsageRowView, UsageView } from '@tidegate/control';
import Link from 'next/link';
import { usePathname, useRouter } from 'next/navigation';
import { Choice } from '../ui/field.tsx';
import { compact, duration, whole } from '../ui/numbers.ts';
import { Empty, PageHeader, Panel } from '../ui/page.tsx';
import { DaysChart } from './days-chart.tsx';
import { isWanted, queryOf } from './filter.ts';
import { MonthPanel } from './month-panel.tsx';
import { QuotaNotices } from './quota-notices.tsx';
import { RowsTable } from './rows-table.tsx';

interface UsageScreenProps {
  readonly org: string;
  readonly usage: UsageView;
  readonly nowMs: number;
  readonly mayChangePlan: boolean;
  /** Empty: all keys. */
  readonly keyId: string;
  readonly modelId: string;
}

export function UsageScreen({ org, usage, nowMs, mayChangePlan, keyId, modelId }: UsageScreenProps) {
  const filter = useFilter(keyId, modelId);
  const rows = usage.rows.filter(isWanted({ keyId, modelId }));
  return (
    <>
      <PageHeader
        title="Usage"
        lead="The last 30 days (UTC). A request counts when capacity is reserved just before the model is called; refused ones do not."
        actions={
          <a
            href={`/o/${org}/usage/csv${queryOf({ keyId, modelId })}`}
            download
            className="button button--secondary gap-2"
          >
            <span className="icon-download size-4" aria-hidden />
            Download CSV
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
        <div className="flex flex-wrap gap-3">
          <Choice
            label="Key"
            hideLabel
            options={keyOptions(usage.rows)}
            value={keyId}
            onChange={(key) => filter(key, modelId)}
            className="w-full sm:w-60"
          />
          <Choice
            label="Model"
            hideLabel
            options={modelOptions(usage.rows)}
            value={modelId}
            onChange={(model) => filter(keyId, model)}
            className="w-full sm:w-60"
          />
        </div>
        <Totals usage={usage} />
        <Panel title="Requests per day">
          {usage.totals.requests === 0 ? (
            <div className="grid h-70 place-items-center">
              <Empty icon={<span className="icon-chart-column size-5" aria-hidden />} title="No requests yet">
                Requests appear here within seconds of being answered.
              </Empty>
            </div>
          ) : (
            <DaysChart days={usage.days} />
          )}
        </Panel>
        <MonthPanel month={usage.month} nowMs={nowMs} />
        <Panel
          title="By key and model"
          lead="Busiest first. Reserved or unreported: the full reservations of requests that ended without a complete answer, or without its token counts."
        >
          <RowsTable rows={rows} />
        </Panel>
      </div>
    </>
  );
}

function useFilter(keyId: string, modelId: string) {
  const router = useRouter();
  const pathname = usePathname();
  return (key: string, model: string) => {
    if (key === keyId && model === modelId) return;
    router.replace(`${pathname}${queryOf({ keyId: key, modelId: model })}`, { scroll: false });
  };
}

const DELETED_ID_CHARACTERS = 4;

function keyOptions(rows: readonly UsageRowView[]) {
  const names = new Map(
    rows.map(({ keyId, key, keyPrefix }) => [
      keyId,
      keyPrefix === null ? `${key} (…${keyId.slice(-DELETED_ID_CHARACTERS)})` : `${key} · ${keyPrefix}…`,
    ]),
  );
  return [{ id: '', text: 'All keys' }, ...[...names].map(([id, text]) => ({ id, text }))];
}

function modelOptions(rows: readonly UsageRowView[]) {
  const names = new Map(
    rows.map(({ modelId, model, modelDeleted }) => [modelId, modelDeleted ? `${model} (deleted)` : model]),
  );
  return [{ id: '', text: 'All models' }, ...[...names].map(([id, text]) => ({ id, text }))];
}

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
