'use client';

import { Button } from '@heroui/react';
import type { KeyDetail, UsageCounts, UsageDayView } from '@tidegate/control';
import { useRouter } from 'next/navigation';
import { type ReactNode, useState } from 'react';
import { requestQueryOf } from '../requests/filter.ts';
import { Facts, Figures } from '../ui/facts.tsx';
import { Link } from '../ui/link.tsx';
import { compact, duration, share, whole } from '../ui/numbers.ts';
import { Note, PageHeader, Panel } from '../ui/page.tsx';
import { Day, Time } from '../ui/time.tsx';
import { stepQueryOf } from '../usage/filter.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { CreateKey } from './create-key.tsx';
import { type AskedOfKey, KeyConfirms, StateChip } from './key-actions.tsx';
import type { ChosenFrom } from './model-choice.tsx';
import type { KeyRules } from './rules.ts';

interface KeyScreenProps {
  readonly org: string;
  readonly mayChange: boolean;
  readonly keyShown: KeyDetail;
  readonly limits: string;
  /** Of the last 30 days. */
  readonly totals: UsageCounts;
  readonly days: readonly UsageDayView[];
  /** The panel of its refusals. */
  readonly refused: ReactNode;
  /** Why no key can be created. Null: one can. */
  readonly full: string | null;
  readonly models: readonly ChosenFrom[];
  readonly rules: KeyRules;
  readonly today: string;
  readonly apiUrl: string;
}

export function KeyScreen(props: KeyScreenProps) {
  const { org, mayChange, keyShown: key, totals, days } = props;
  const router = useRouter();
  return (
    <>
      <PageHeader
        back={{ href: `/o/${org}/keys`, name: 'Keys' }}
        title={key.name}
        lead={
          <span className="inline-flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <StateChip state={key.state} />
            <code className="font-mono text-[0.8125rem]">{key.prefix}…</code>
            <span>{key.lastUsedAt ? <LastUsed at={key.lastUsedAt} /> : 'never used'}</span>
          </span>
        }
        actions={mayChange ? <Actions {...props} /> : null}
      />
      <div className="space-y-6">
        <Figures
          label="The last 30 days"
          figures={[
            { name: 'Requests', value: whole(totals.requests), note: 'in the last 30 days (UTC)' },
            { name: 'Errors', value: whole(totals.errors), note: share(totals.errors, totals.requests) },
            {
              name: 'Tokens',
              value: `${compact(totals.promptTokens)} in · ${compact(totals.completionTokens)} out`,
            },
            { name: 'Average time', value: duration(totals.averageMs), note: 'of a whole answer' },
          ]}
        />
        <Panel
          title="Requests per day"
          lead={
            <>
              <Link href={`/o/${org}/requests${requestQueryOf({ key: key.id })}`} className="inline-link">
                Latest requests
              </Link>
              {' · '}
              <Link
                href={`/o/${org}/requests${requestQueryOf({ key: key.id, outcome: 'errors' })}`}
                className="inline-link"
              >
                Latest errors
              </Link>
              {' · '}
              <Link href={`/o/${org}/usage?key=${key.id}`} className="inline-link">
                Usage by model
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
                router.push(`/o/${org}/requests${stepQueryOf({ keyId: key.id, modelId: '' }, day)}`)
              }
            />
          )}
        </Panel>
        {props.refused}
        <Settings keyShown={key} limits={props.limits} />
      </div>
    </>
  );
}

const LastUsed = ({ at }: { at: string }) => (
  <>
    last used <Time iso={at} />
  </>
);

function Actions(props: KeyScreenProps) {
  const { org, keyShown: key, full, models, rules, today, apiUrl } = props;
  const router = useRouter();
  const [asked, setAsked] = useState<AskedOfKey | null>(null);
  const [copying, setCopying] = useState(false);
  const what = key.state === 'Revoked' ? 'delete' : 'revoke';
  return (
    <>
      <Button variant="secondary" onPress={() => setCopying(true)} isDisabled={full !== null}>
        <span className="icon-copy-plus size-4" aria-hidden />
        Create one like this
      </Button>
      <Button variant="danger-soft" onPress={() => setAsked({ what, key })}>
        <span className={`${what === 'delete' ? 'icon-trash' : 'icon-ban'} size-4`} aria-hidden />
        {what === 'delete' ? 'Delete' : 'Revoke'}
      </Button>
      {full === null ? null : (
        <Note kind="warning" className="w-full">
          {full}
        </Note>
      )}
      <KeyConfirms
        org={org}
        asked={asked}
        onClose={() => setAsked(null)}
        onDeleted={() => router.push(`/o/${org}/keys`)}
      />
      {copying ? (
        <CreateKey
          org={org}
          models={models}
          rules={rules}
          today={today}
          apiUrl={apiUrl}
          like={key}
          onClose={() => setCopying(false)}
        />
      ) : null}
    </>
  );
}

function Settings({ keyShown: key, limits }: { keyShown: KeyDetail; limits: string }) {
  const { mayCall } = key;
  return (
    <Panel
      title="Settings"
      lead="A key's settings never change. To change something, create a key like this one, then revoke this one."
    >
      <Facts
        facts={[
          {
            name: 'May call',
            value: mayCall.all ? 'All models, including those published later' : <Chosen {...mayCall} />,
          },
          { name: 'Limits', value: limits },
          {
            name: 'Created',
            value: (
              <>
                <Time iso={key.createdAt} />
                {key.createdBy ? ` by ${key.createdBy}` : ''}
              </>
            ),
          },
          {
            name: 'Expires',
            value: <Expires {...key} />,
          },
          ...(key.revokedAt ? [{ name: 'Revoked', value: <Time iso={key.revokedAt} /> }] : []),
        ]}
      />
    </Panel>
  );
}

function Expires({ expiresAt, expiresOn }: Pick<KeyDetail, 'expiresAt' | 'expiresOn'>) {
  if (expiresAt)
    return (
      <>
        with the page that created it, or <Time iso={expiresAt} /> at the latest
      </>
    );
  return expiresOn ? <>at the end of {<Day day={expiresOn} />} (UTC)</> : 'Never';
}

const Chosen = ({ models, deleted }: KeyDetail['mayCall']) => (
  <ul>
    {models.map((name) => (
      <li key={name}>{name}</li>
    ))}
    {deleted > 0 ? <li className="text-muted">{whole(deleted)} deleted</li> : null}
  </ul>
);
