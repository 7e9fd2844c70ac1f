'use client';

import { Button } from '@heroui/react';
import { useState } from 'react';
import { ToGuide } from '../start/to-guide.tsx';
import { useAllRows } from '../ui/all-rows.ts';
import { Choice } from '../ui/field.tsx';
import { FilterInput } from '../ui/filter-input.tsx';
import { Empty, Note, PageHeader } from '../ui/page.tsx';
import { ShowMore } from '../ui/show-more.tsx';
import { type ChosenFrom, CreateKey } from './create-key.tsx';
import { fullness } from './fullness.ts';
import { KeysTable } from './keys-table.tsx';
import { arrange, type KeyTableRow, type Sort, type StateFilter } from './rows.ts';
import type { KeyRules } from './rules.ts';

interface KeysScreenProps {
  readonly org: string;
  readonly plan: string;
  readonly mayChange: boolean;
  /** The newest, or all. */
  readonly keys: readonly KeyTableRow[];
  /** How many there are that are not revoked, and in all. */
  readonly valid: number;
  readonly total: number;
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

export function KeysScreen(props: KeysScreenProps) {
  const { org, plan, mayChange, keys, valid, total, models, rules, today, apiUrl } = props;
  const [creating, setCreating] = useState(false);
  const [text, setText] = useState('');
  const [state, setState] = useState<StateFilter>('all');
  const [sort, setSort] = useState<Sort | null>(null);
  const rows = useAllRows({ sent: keys.length, total });
  const full = fullness({ valid, total, plan }, rules);
  const found = arrange(keys, { text, state, sort });
  /** How many rows there are besides those that are found and were sent. */
  const unsent = text === '' && state === 'all' ? total - keys.length : 0;
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
          <FilterInput
            label="Filter by name or first characters"
            placeholder="Filter keys"
            value={text}
            onFocus={rows.fetchAll}
            onChange={setText}
          />
          <Choice
            label="State"
            hideLabel
            options={FILTERS}
            value={state}
            onChange={(chosen) => {
              rows.fetchAll();
              setState(chosen);
            }}
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
        ) : found.length === 0 ? (
          <p className="px-6 py-14 text-center text-sm text-muted">
            {rows.fetching ? 'Looking through all keys…' : 'No key matches the filter.'}
          </p>
        ) : (
          <>
            <KeysTable
              org={org}
              rows={found.slice(0, rows.shown)}
              mayChange={mayChange}
              sort={sort}
              onSort={(wanted) => {
                rows.fetchAll();
                setSort(wanted);
              }}
            />
            <ShowMore more={found.length + unsent - rows.shown} onPress={rows.showMore} />
          </>
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
