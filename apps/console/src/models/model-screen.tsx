'use client';

import { Button } from '@heroui/react';
import type { ModelDetail, UsageDayView, UsageView } from '@tidegate/control';
import { useRouter } from 'next/navigation';
import { useState } from 'react';
import { requestQueryOf } from '../requests/filter.ts';
import { Facts, Figures } from '../ui/facts.tsx';
import { Link } from '../ui/link.tsx';
import { duration, seconds, share, spread, whole } from '../ui/numbers.ts';
import { PageHeader, Panel } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { stepQueryOf } from '../usage/filter.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { ConditionDot } from './condition.tsx';
import { EditModel } from './edit-model.tsx';
import { HistoryTable } from './history-table.tsx';
import { type AskedOfModel, isStartable, ModelConfirms, StartModel } from './model-actions.tsx';
import { InFlight } from './models-table.tsx';

interface ModelScreenProps {
  readonly org: string;
  readonly mayChange: boolean;
  readonly model: ModelDetail;
  /** Of the last 30 days. */
  readonly totals: UsageView['totals'];
  readonly days: readonly UsageDayView[];
}

export function ModelScreen({ org, mayChange, model, totals, days }: ModelScreenProps) {
  const router = useRouter();
  return (
    <>
      <PageHeader
        back={{ href: `/o/${org}/api`, name: 'API' }}
        title={model.name}
        lead={
          <>
            {model.kind === 'vision' ? 'Takes text and images' : 'Takes text'} · context{' '}
            {whole(model.contextTokens)} tokens · published <Time iso={model.publishedAt} />
          </>
        }
        actions={mayChange ? <Actions org={org} model={model} /> : null}
      />
      <div className="space-y-6">
        <Now model={model} />
        <Figures
          label="The last 30 days"
          figures={[
            { name: 'Requests', value: whole(totals.requests), note: 'in the last 30 days (UTC)' },
            { name: 'Errors', value: whole(totals.errors), note: share(totals.errors, totals.requests) },
            {
              name: 'Average time',
              value: duration(totals.averageMs),
              note: spread(totals.p50Ms, totals.p95Ms) ?? 'of a whole answer',
            },
            {
              name: 'In flight',
              value: <InFlight count={model.inFlight} />,
              note: model.inFlight === null ? 'The runner is not available right now.' : 'now',
            },
          ]}
        />
        <Panel
          title="Requests per day"
          lead={
            <>
              <Link href={`/o/${org}/requests${requestQueryOf({ model: model.id })}`} className="inline-link">
                Latest requests
              </Link>
              {' · '}
              <Link
                href={`/o/${org}/requests${requestQueryOf({ model: model.id, outcome: 'errors' })}`}
                className="inline-link"
              >
                Latest errors
              </Link>
              {' · '}
              <Link href={`/o/${org}/usage?model=${model.id}`} className="inline-link">
                Usage by key
              </Link>
            </>
          }
        >
          {totals.requests === 0 ? (
            <p className="px-5 pb-6 text-sm text-muted">No requests in the last 30 days.</p>
          ) : (
            <UsageChart
              days={days}
              onStep={(day) =>
                router.push(`/o/${org}/requests${stepQueryOf({ keyId: '', modelId: model.id }, day)}`)
              }
            />
          )}
        </Panel>
        <Panel
          title="Conditions"
          lead="What the model has been doing: the last 200 changes, going back at most 35 days. Changes within moments of each other may be missing."
        >
          <HistoryTable changes={model.changes} />
        </Panel>
        {model.settings ? <Settings model={model} settings={model.settings} /> : null}
      </div>
    </>
  );
}

function Actions({ org, model }: { org: string; model: ModelDetail }) {
  const router = useRouter();
  const [asked, setAsked] = useState<AskedOfModel | null>(null);
  const [editing, setEditing] = useState(false);
  const { name, settings } = model;
  return (
    <>
      {isStartable(model) ? (
        <StartModel org={org} name={name} />
      ) : (
        <Button variant="secondary" onPress={() => setAsked({ what: 'stop', name })}>
          <span className="icon-square size-4" aria-hidden />
          Stop
        </Button>
      )}
      {settings ? (
        <Button variant="secondary" onPress={() => setEditing(true)}>
          <span className="icon-pencil size-4" aria-hidden />
          Edit
        </Button>
      ) : null}
      <Button variant="danger-soft" onPress={() => setAsked({ what: 'delete', name })}>
        <span className="icon-trash size-4" aria-hidden />
        Delete
      </Button>
      <ModelConfirms
        org={org}
        asked={asked}
        onClose={() => setAsked(null)}
        onDeleted={() => router.push(`/o/${org}/api`)}
      />
      {editing && settings ? (
        <EditModel org={org} model={model} settings={settings} onClose={() => setEditing(false)} />
      ) : null}
    </>
  );
}

/** The condition, since when, and why. */
function Now({
  model: { condition, replicas, down, conditionAt, conditionReason, mode, sleepAfterS },
}: {
  model: ModelDetail;
}) {
  const [why, ...printed] = (conditionReason ?? '').trimEnd().split('\n');
  return (
    <section className="card-surface px-5 py-4" aria-label="Condition">
      <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
        <p className="text-[0.9375rem] font-semibold">
          <ConditionDot condition={condition} replicas={replicas} />{' '}
          <span className="text-[0.8125rem] font-normal text-muted">
            · changed <Time iso={conditionAt} />
          </span>
        </p>
        <p className="text-[0.8125rem] text-muted">
          {mode === 'always_on'
            ? 'Always on'
            : `Wakes on request, sleeps after ${seconds(sleepAfterS ?? 0)} without one`}
        </p>
      </div>
      {why ? <p className="mt-2 text-sm leading-6 wrap-anywhere">{why}</p> : null}
      {down.length > 0 ? (
        <ul aria-label="Replicas that cannot be called" className="mt-2 space-y-1 text-sm leading-6">
          {down.map(({ baseUrl, reason }) => (
            <li key={baseUrl} className="wrap-anywhere">
              <code className="font-mono text-[0.8125rem]">{baseUrl}</code> cannot be called.{' '}
              <span className="text-muted">{reason}</span>
            </li>
          ))}
        </ul>
      ) : null}
      {printed.length > 0 ? (
        <>
          <p className="mt-3 text-xs text-muted">What its process printed last, before it was ready:</p>
          <pre className="mt-1 rounded-xl bg-(--code) px-4 py-3 font-mono text-xs leading-5 wrap-anywhere whitespace-pre-wrap text-(--code-foreground)">
            {printed.join('\n')}
          </pre>
        </>
      ) : null}
    </section>
  );
}

function Settings({
  model,
  settings,
}: {
  model: ModelDetail;
  settings: NonNullable<ModelDetail['settings']>;
}) {
  const { urls, upstreamModel, hasUpstreamKey, healthPath, startTimeoutS } = settings;
  const where = urls ? (
    urls.map((url) => (
      <code key={url} className="block font-mono text-[0.8125rem]">
        {url}
      </code>
    ))
  ) : (
    <>
      {model.driver === 'kubernetes' ? 'A workload on Kubernetes' : 'A command on the runner’s machine'}. An
      operator can change it.
    </>
  );
  return (
    <Panel title="Settings" lead="Only owners see them.">
      <Facts
        facts={[
          { name: urls?.length === 1 ? 'Server' : urls ? 'Servers' : 'Runs as', value: where },
          { name: 'Upstream model', value: upstreamModel ?? model.name },
          {
            name: 'Upstream key',
            value: hasUpstreamKey ? 'Stored encrypted, never shown' : 'None',
          },
          ...(healthPath === null ? [] : [{ name: 'Path to probe', value: <code>{healthPath}</code> }]),
          ...(startTimeoutS === null ? [] : [{ name: 'Start timeout', value: seconds(startTimeoutS) }]),
        ]}
      />
    </Panel>
  );
}
