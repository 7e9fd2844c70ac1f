'use client';

import { ToGuide } from '../start/to-guide.tsx';
import { useAddressTexts } from '../ui/address.ts';
import { useAllRows } from '../ui/all-rows.ts';
import { Choice } from '../ui/field.tsx';
import { FilterInput } from '../ui/filter-input.tsx';
import { Empty } from '../ui/page.tsx';
import { ShowMore } from '../ui/show-more.tsx';
import { KeysTable } from './keys-table.tsx';
import {
  arrange,
  KEYS_IN_ADDRESS,
  type KeyTableRow,
  type StateFilter,
  sortOf,
  sortText,
  stateFilterOf,
} from './rows.ts';

interface KeysListProps {
  readonly org: string;
  readonly mayChange: boolean;
  /** The newest, or all. */
  readonly keys: readonly KeyTableRow[];
  /** How many there are in all. */
  readonly total: number;
  /** Stands beside the filters. */
  readonly count: string;
}

/** The keys that match the filters. Filtering or sorting fetches all of them. */
export function KeysList({ org, mayChange, keys, total, count }: KeysListProps) {
  const rows = useAllRows({ sent: keys.length, total });
  const [texts, set] = useAddressTexts(KEYS_IN_ADDRESS, rows.fetching);
  const [text, state, sort] = [texts.find, stateFilterOf(texts.state), sortOf(texts.sort)];
  const found = arrange(keys, { text, state, sort });
  /** How many rows match that were not sent. */
  const unsent = text === '' && state === 'all' ? total - keys.length : 0;
  return (
    <section className="card-surface" aria-label="Keys">
      <KeysFilters
        text={text}
        onText={(find) => set({ find })}
        state={state}
        onState={(chosen) => set({ state: chosen === 'all' ? '' : chosen })}
        onUse={rows.fetchAll}
        count={count}
      />
      {keys.length === 0 ? (
        <NoKeys org={org} mayChange={mayChange} />
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
              set({ sort: sortText(wanted) });
            }}
          />
          <ShowMore more={found.length + unsent - rows.shown} onPress={rows.showMore} />
        </>
      )}
    </section>
  );
}

const STATES: readonly { id: StateFilter; text: string }[] = [
  { id: 'all', text: 'All states' },
  { id: 'Active', text: 'Active' },
  { id: 'Expired', text: 'Expired' },
  { id: 'Revoked', text: 'Revoked' },
];

interface KeysFiltersProps {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly state: StateFilter;
  readonly onState: (state: StateFilter) => void;
  /** Called before either is changed. */
  readonly onUse: () => void;
  readonly count: string;
}

function KeysFilters({ text, onText, state, onState, onUse, count }: KeysFiltersProps) {
  return (
    <div className="flex flex-wrap items-center gap-3 border-b border-border px-4 py-3">
      <FilterInput
        label="Filter by name or first characters"
        placeholder="Filter keys"
        value={text}
        onFocus={onUse}
        onChange={onText}
      />
      <Choice
        label="State"
        hideLabel
        options={STATES}
        value={state}
        onChange={(chosen) => {
          onUse();
          onState(chosen);
        }}
        className="w-36"
      />
      <p className="ml-auto text-[0.8125rem] text-muted tabular-nums">{count}</p>
    </div>
  );
}

const NoKeys = ({ org, mayChange }: { org: string; mayChange: boolean }) => (
  <Empty icon={<span className="icon-key-round size-5" aria-hidden />} title="No keys yet">
    {mayChange ? (
      <>
        Create the first one to send requests to your models, or <ToGuide org={org} />.
      </>
    ) : (
      'Keys that an owner creates are listed here.'
    )}
  </Empty>
);
