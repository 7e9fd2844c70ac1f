'use client';

import { Button, Input } from '@heroui/react';
import { useState } from 'react';
import { ToGuide } from '../start/to-guide.tsx';
import { Choice } from '../ui/field.tsx';
import { Empty, Note, PageHeader } from '../ui/page.tsx';
import { type ChosenFrom, CreateKey } from './create-key.tsx';
import { fullness } from './fullness.ts';
import { KeysTable } from './keys-table.tsx';
import { arrange, type KeyTableRow, type Sort, type StateFilter } from './rows.ts';
import type { KeyRules } from './rules.ts';

interface KeysScreenProps {
  readonly org: string;
  readonly plan: string;
  readonly mayChange: boolean;
  readonly keys: readonly KeyTableRow[];
  readonly models: readonly ChosenFrom[];
  readonly rules: KeyRules;
  readonly today: string;
  readonly apiUrl: string;
}

const FILTERS: readonly { id: StateFilter; text: string }[] = [
  { id: 'all', text: 'All states' },
  { id: 'Active', text: 'Active' },
  { id: 'Expired', text: 'Expired' },
  { id: 'Revoked', text: 'Revoked' },
];

export function KeysScreen({ org, plan, mayChange, keys, models, rules, today, apiUrl }: KeysScreenProps) {
  const [creating, setCreating] = useState(false);
  const [text, setText] = useState('');
  const [state, setState] = useState<StateFilter>('all');
  const [sort, setSort] = useState<Sort | null>(null);
  const valid = keys.filter((key) => key.state !== 'Revoked').length;
  const full = fullness({ valid, total: keys.length, plan }, rules);
  const shown = arrange(keys, { text, state, sort });
  return (
    <>
      <PageHeader
        title="Keys"
        lead="Every request to the API carries a key. Keep keys on servers, never in web pages or shipped applications."
        actions={
          mayChange ? (
            <Button onPress={() => setCreating(true)} isDisabled={full.blocked}>
              <span className="icon-plus size-4" aria-hidden />
              Create key
            </Button>
          ) : null
        }
      />
      {full.message && mayChange ? (
        <Note kind="warning" className="mb-5">
          {full.message}
        </Note>
      ) : null}
      <section className="card-surface" aria-label="Keys">
        <div className="flex flex-wrap items-center gap-3 border-b border-border px-4 py-3">
          <div className="relative min-w-44 flex-1 sm:max-w-64">
            <span
              className="icon-search pointer-events-none absolute top-1/2 left-3 z-10 size-4 -translate-y-1/2 text-muted"
              aria-hidden
            />
            <Input
              fullWidth
              className="pl-9"
              aria-label="Filter by name or first characters"
              placeholder="Filter keys"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          </div>
          <Choice
            label="State"
            hideLabel
            options={FILTERS}
            value={state}
            onChange={setState}
            className="w-36"
          />
          <p className="ml-auto text-[0.8125rem] text-muted tabular-nums">
            {valid} of {rules.mostKeys} keys in use on {plan}
          </p>
        </div>
        {keys.length === 0 ? (
          <Empty icon={<span className="icon-key-round size-5" aria-hidden />} title="No keys yet">
            {mayChange ? (
              <>
                Create the first one to send requests to your models, or <ToGuide org={org} />.
              </>
            ) : (
              'An owner creates keys; they are listed here.'
            )}
          </Empty>
        ) : shown.length === 0 ? (
          <p className="px-6 py-14 text-center text-sm text-muted">No key matches the filter.</p>
        ) : (
          <KeysTable org={org} rows={shown} mayChange={mayChange} sort={sort} onSort={setSort} />
        )}
      </section>
      {creating ? (
        <CreateKey
          org={org}
          models={models}
          rules={rules}
          today={today}
          apiUrl={apiUrl}
          onClose={() => setCreating(false)}
        />
      ) : null}
    </>
  );
}
