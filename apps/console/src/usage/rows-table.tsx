'use client';

import type { UsageRowView } from '@tidegate/control';
import { useMoreRows } from '../ui/all-rows.ts';
import { Link } from '../ui/link.tsx';
import { duration, inColumn, whole } from '../ui/numbers.ts';
import { ShowMore } from '../ui/show-more.tsx';
import { Table } from '../ui/table.tsx';
import type { UsageChoice } from './filter.ts';

const COLUMNS: readonly { name: string; width: string; cell: (row: UsageRowView) => string }[] = [
  { name: 'Requests', width: 'w-22', cell: (row) => inColumn(row.requests) },
  { name: 'Errors', width: 'w-18', cell: (row) => inColumn(row.errors) },
  { name: 'Tokens in', width: 'w-27', cell: (row) => inColumn(row.promptTokens) },
  { name: 'Tokens out', width: 'w-27', cell: (row) => inColumn(row.completionTokens) },
  {
    name: 'Reserved or unreported',
    width: 'w-28 whitespace-normal',
    cell: (row) => inColumn(row.reservedTokens),
  },
  { name: 'Average time', width: 'w-28', cell: (row) => duration(row.averageMs) },
];

interface RowsTableProps {
  /** The first, or as many as were asked for. */
  readonly rows: readonly UsageRowView[];
  /** How many a page can have. */
  readonly total: number;
  /** How many more there are, which only the CSV has. */
  readonly leftOut: number;
  /** Where the usage of one key or one model is. */
  readonly hrefOf: (choice: UsageChoice) => string;
}

export function RowsTable({ rows, total, leftOut, hrefOf }: RowsTableProps) {
  const showMore = useMoreRows(rows.length);
  if (rows.length === 0)
    return <p className="px-5 pt-4 pb-10 text-center text-sm text-muted">No usage in this period.</p>;
  return (
    <>
      <Table label="Usage by key and model" cardsBelow="4xl" className="border-t border-border">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">Model</th>
            {COLUMNS.map(({ name, width }) => (
              <th key={name} scope="col" className={`number ${width}`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.keyId} ${row.modelId}`}>
              <th scope="row">
                <Link href={hrefOf({ keyId: row.keyId, modelId: '' })} className="quiet-link">
                  <span className={`block ${row.keyPrefix ? 'font-medium' : 'text-muted italic'}`}>
                    {row.key}
                  </span>
                </Link>
                {row.keyPrefix ? (
                  <code className="font-mono text-xs text-muted">{row.keyPrefix}…</code>
                ) : null}
              </th>
              <td data-label="Model" className="wide">
                <Link href={hrefOf({ keyId: '', modelId: row.modelId })} className="quiet-link">
                  {row.model}
                </Link>
                {row.modelDeleted ? <span className="text-muted"> (deleted)</span> : null}
              </td>
              {COLUMNS.map(({ name, cell }) => (
                <td key={name} data-label={name} className="number">
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </Table>
      <ShowMore more={total - rows.length} onPress={showMore} />
      {total <= rows.length && leftOut > 0 ? (
        <p className="border-t border-separator p-4 text-center text-sm text-muted">
          {whole(leftOut)} more, less busy. Choose a key or a model to see its own; the CSV has all.
        </p>
      ) : null}
    </>
  );
}
