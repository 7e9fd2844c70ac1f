'use client';

import { Button } from '@heroui/react';
import { useState } from 'react';
import { Link } from '../ui/link.tsx';
import { Table } from '../ui/table.tsx';
import { Day, Time } from '../ui/time.tsx';
import { type AskedOfKey, KeyConfirms, StateChip } from './key-actions.tsx';
import type { KeyTableRow, Sort, SortColumn } from './rows.ts';

const COLUMNS: readonly { id: SortColumn; name: string; width?: string }[] = [
  { id: 'name', name: 'Name' },
  { id: 'state', name: 'State', width: 'w-26' },
  { id: 'mayCall', name: 'May call' },
  { id: 'limits', name: 'Limits', width: 'w-28 @min-[68rem]:w-44' },
  { id: 'lastUsed', name: 'Last used', width: 'w-30 @min-[68rem]:w-48' },
  { id: 'expires', name: 'Expires', width: 'w-29' },
];
interface KeysTableProps {
  readonly org: string;
  readonly rows: readonly KeyTableRow[];
  readonly mayChange: boolean;
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort | null) => void;
}

export function KeysTable({ org, rows, mayChange, sort, onSort }: KeysTableProps) {
  const [asked, setAsked] = useState<AskedOfKey | null>(null);
  return (
    <>
      <Table label="List of keys" cardsBelow="4xl">
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <SortableHeader key={column.id} {...column} sort={sort} onSort={onSort} />
            ))}
            {mayChange ? (
              <th scope="col" className="w-34">
                <span className="sr-only">Actions</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {rows.map((key) => (
            <tr key={key.id} className={key.state === 'Active' ? '' : 'text-muted'}>
              <th scope="row">
                <Link
                  href={`/o/${org}/keys/${key.id}`}
                  className="block font-medium text-foreground quiet-link"
                >
                  {key.name}
                </Link>
                <code className="font-mono text-xs text-muted">{key.prefix}…</code>
              </th>
              <td data-label="State">
                <span className="inline-block min-w-18">
                  <StateChip state={key.state} />
                </span>
              </td>
              <td
                data-label="May call"
                className="wide last"
                title={key.mayCallShort === key.mayCallText ? undefined : key.mayCallText}
              >
                {key.mayCallShort}
              </td>
              <td data-label="Limits" className="tabular-nums">
                <Limits text={key.limitsText} />
              </td>
              <td data-label="Last used">{key.lastUsedAt ? <Time iso={key.lastUsedAt} /> : 'Never'}</td>
              <td data-label="Expires">
                <Expires {...key} />
              </td>
              {mayChange ? (
                <td className="actions">
                  <RowAction keyRow={key} onAsk={(what) => setAsked({ what, key })} />
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </Table>
      <KeyConfirms org={org} asked={asked} onClose={() => setAsked(null)} />
    </>
  );
}

function Expires({ expiresAt, expiresOn }: Pick<KeyTableRow, 'expiresAt' | 'expiresOn'>) {
  if (expiresAt) return <Time iso={expiresAt} />;
  return expiresOn ? <Day day={expiresOn} /> : 'Never';
}

/** Shows `60/min · 4 at once`, on one line, or on two where the column is narrow. */
function Limits({ text }: { text: string }) {
  const [aMinute, atOnce] = text.split(' · ');
  return (
    <>
      <span className="whitespace-nowrap">
        {aMinute}
        <span className="@2xl:@max-[68rem]:sr-only"> ·</span>
      </span>{' '}
      <span className="whitespace-nowrap">{atOnce}</span>
    </>
  );
}

function SortableHeader({
  id,
  name,
  width,
  sort,
  onSort,
}: {
  id: SortColumn;
  name: string;
  width?: string;
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}) {
  const here = sort?.column === id ? sort : null;
  const next =
    here === null
      ? { column: id, descending: false }
      : here.descending
        ? null
        : { column: id, descending: true };
  const arrow = here?.descending ? 'icon-arrow-down' : 'icon-arrow-up';
  return (
    <th
      scope="col"
      className={width}
      aria-sort={here ? (here.descending ? 'descending' : 'ascending') : 'none'}
    >
      <button
        type="button"
        className="group inline-flex items-center gap-1 rounded font-medium hover:text-foreground"
        onClick={() => onSort(next)}
      >
        {name}
        <span className={`${arrow} size-3 ${here ? '' : 'opacity-0 group-hover:opacity-50'}`} aria-hidden />
      </button>
    </th>
  );
}

function RowAction({ keyRow, onAsk }: { keyRow: KeyTableRow; onAsk: (what: 'revoke' | 'delete') => void }) {
  const revoked = keyRow.state === 'Revoked';
  const icon = revoked ? 'icon-trash' : 'icon-ban';
  return (
    <Button
      size="sm"
      variant="ghost"
      className="min-w-24"
      onPress={() => onAsk(revoked ? 'delete' : 'revoke')}
      aria-label={`${revoked ? 'Delete' : 'Revoke'} ${keyRow.name}`}
    >
      <span className={`${icon} size-3.5`} aria-hidden />
      {revoked ? 'Delete' : 'Revoke'}
    </Button>
  );
}
