'use client';

import { Button, Chip, toast } from '@heroui/react';
import type { PlanLimitTable, PlanView, UsageMonth } from '@tidegate/control';
import { useEffect, useState } from 'react';
import { Confirm } from '../ui/dialogs.tsx';
import { whole } from '../ui/numbers.ts';
import { PageHeader, Panel } from '../ui/page.tsx';
import { TypedConfirm } from '../ui/typed-confirm.tsx';
import { MonthNote, Quota } from '../usage/month-panel.tsx';
import { QuotaBanners } from '../usage/quota-banners.tsx';
import { deleteOrg, setPlan } from './actions.ts';
import { quotasOf } from './quotas.ts';

interface PlanScreenProps {
  readonly org: { readonly slug: string; readonly name: string; readonly plan: string };
  readonly mayChange: boolean;
  readonly limits: PlanLimitTable;
  readonly plans: readonly PlanView[];
  readonly month: UsageMonth;
  readonly nowMs: number;
  /** Keys that are not revoked. */
  readonly keysInUse: number;
}

export function PlanScreen({ org, mayChange, limits, plans, month, nowMs, keysInUse }: PlanScreenProps) {
  const [asked, setAsked] = useState<PlanView | null>(null);
  // The plan that the limiter has confirmed and the page does not show yet.
  const [awaited, setAwaited] = useState<string | null>(null);
  useEffect(() => {
    if (awaited !== org.plan) return;
    setAwaited(null);
    toast.success('The new limits are in force.');
  }, [awaited, org.plan]);
  const current = plans.find(({ name }) => name === org.plan);
  return (
    <>
      <PageHeader
        title="Plan"
        lead="Limits of the whole organization, shared by all its keys. Months are calendar months in UTC."
      />
      <div className="space-y-6">
        <QuotaBanners month={month} nowMs={nowMs}>
          {mayChange ? 'Change to a larger plan here' : 'Ask an owner to change to a larger plan'}, or send
          fewer requests until then.
        </QuotaBanners>
        {current ? <Use plan={current} month={month} keysInUse={keysInUse} /> : null}
        <ul className="grid gap-4 md:grid-cols-3" aria-label="Plans">
          {plans.map((plan) => (
            <PlanCard
              key={plan.id}
              limits={limits}
              plan={plan}
              isCurrent={plan.name === org.plan}
              onChoose={mayChange ? () => setAsked(plan) : undefined}
            />
          ))}
        </ul>
        {mayChange ? (
          <TypedConfirm
            title="Delete organization"
            lead="Also deletes its keys, models, memberships, usage and audit trail. This cannot be undone."
            what="the organization's name"
            name="confirm"
            action={(typed) => deleteOrg(org.slug, typed)}
            leadsTo="/"
          >
            <p>
              This deletes {org.name} for good. Its keys are refused from the next request on, requests in
              progress end, and its models stop. Its members keep their accounts.
            </p>
          </TypedConfirm>
        ) : null}
      </div>
      <Confirm
        isOpen={asked !== null}
        onClose={() => setAsked(null)}
        title={`Change the plan to ${asked?.name ?? ''}?`}
        confirm="Change plan"
        danger={false}
        action={() => setPlan(org.slug, asked?.name ?? '')}
        onDone={() => setAwaited(asked?.name ?? null)}
      >
        <p>
          The new limits apply from the next request on. What has been used this month counts against them.
        </p>
        {asked && keysInUse > asked.keys ? (
          <p>
            {keysInUse} keys are in use and the plan has room for {asked.keys}: they all keep working, but
            none can be created until enough are revoked.
          </p>
        ) : null}
        {asked && current?.images && !asked.images ? <p>Requests with images will be refused.</p> : null}
      </Confirm>
    </>
  );
}

function Use({ plan, month, keysInUse }: { plan: PlanView; month: UsageMonth; keysInUse: number }) {
  return (
    <Panel title={`In use on ${plan.name}`} lead={<MonthNote what="Monthly counts start" month={month} />}>
      <div className="grid gap-x-10 gap-y-6 px-5 pt-1 pb-5 md:grid-cols-2">
        {quotasOf(plan, month, keysInUse).map((quota) => (
          <Quota key={quota.name} {...quota} />
        ))}
      </div>
    </Panel>
  );
}

interface PlanCardProps {
  readonly limits: PlanLimitTable;
  readonly plan: PlanView;
  readonly isCurrent: boolean;
  readonly onChoose: (() => void) | undefined;
}

function PlanCard({ limits, plan, isCurrent, onChoose }: PlanCardProps) {
  const numbers = Object.entries(limits).map(
    ([name, { label }]) => [label, whole(plan[name as keyof PlanLimitTable])] as const,
  );
  const rows = [...numbers, ['Images', plan.images ? 'Yes' : 'No'] as const];
  return (
    <li className={`card-surface flex flex-col p-5 ${isCurrent ? 'ring-2 ring-accent' : ''}`}>
      <div className="flex items-center justify-between">
        <h2 className="text-lg font-semibold tracking-[-0.015em]">{plan.name}</h2>
        {isCurrent ? (
          <Chip size="sm" variant="soft" color="accent">
            Current
          </Chip>
        ) : null}
      </div>
      <dl className="mt-4 flex-1 divide-y divide-separator text-[0.8125rem]">
        {rows.map(([name, value]) => (
          <div key={name} className="flex justify-between gap-x-2 py-2 md:max-xl:flex-col">
            <dt className="text-muted">{name}</dt>
            <dd className="font-medium tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
      {onChoose && !isCurrent ? (
        <Button variant="secondary" fullWidth className="mt-4" onPress={onChoose}>
          Change to {plan.name}
        </Button>
      ) : null}
    </li>
  );
}
