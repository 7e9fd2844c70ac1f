'use client';

import type { UsageModelView } from '@tidegate/control';
import { useState } from 'react';
import { Link } from '../ui/link.tsx';
import { duration, inColumn } from '../ui/numbers.ts';
import { ShowMore } from '../ui/show-more.tsx';
import { Table } from '../ui/table.tsx';
import type { UsageChoice } from './filter.ts';

const PAGE = 20;

const COLUMNS: readonly { name: string; width: string; cell: (row: UsageModelView) => string }[] = [
  { name: 'Requests', width: 'w-22', cell: (row) => inColumn(row.requests) },
  { name: 'Errors', width: 'w-18', cell: (row) => inColumn(row.errors) },
  { name: 'Tokens in', width: 'w-27', cell: (row) => inColumn(row.promptTokens) },
  { name: 'Tokens out', width: 'w-27', cell: (row) => inColumn(row.completionTokens) },
  { name: 'Average time', width: 'w-22 whitespace-normal', cell: (row) => duration(row.averageMs) },
];

const TIMES: typeof COLUMNS = [
  { name: 'p50', width: 'w-18', cell: (row) => duration(row.p50Ms) },
  { name: 'p95', width: 'w-18', cell: (row) => duration(row.p95Ms) },
  {
    name: 'First chunk p50',
    width: 'w-24 whitespace-normal',
    cell: (row) => duration(row.firstChunkP50Ms),
  },
  {
    name: 'First chunk p95',
    width: 'w-28 whitespace-normal',
    cell: (row) => duration(row.firstChunkP95Ms),
  },
];

interface ModelsTableProps {
  readonly models: readonly UsageModelView[];
  /** The usage is that of one key, of which only the average time is known. */
  readonly isOfKey: boolean;
  /** Where the usage of one key or one model is. */
  readonly hrefOf: (choice: UsageChoice) => string;
}

export function ModelUsageTable({ models, isOfKey, hrefOf }: ModelsTableProps) {
  const columns = isOfKey ? COLUMNS : [...COLUMNS, ...TIMES];
  const [shown, setShown] = useState(PAGE);
  if (models.length === 0)
    return <p className="grid h-56 place-items-center text-sm text-muted">No usage in this period.</p>;
  return (
    <>
      <Table label="Usage by model" cardsBelow="4xl" className="border-t border-border">
        <thead>
          <tr>
            <th scope="col">Model</th>
            {columns.map(({ name, width }) => (
              <th key={name} scope="col" className={`number ${width}`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {models.slice(0, shown).map((row) => (
            <tr key={row.modelId}>
              <th scope="row">
                <Link href={hrefOf({ keyId: '', modelId: row.modelId })} className="font-medium quiet-link">
                  {row.model}
                </Link>
                {row.modelDeleted ? <span className="text-muted"> (deleted)</span> : null}
              </th>
              {columns.map(({ name, cell }) => (
                <td key={name} data-label={name} className="number">
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </Table>
      <ShowMore more={models.length - shown} onPress={() => setShown(shown + PAGE)} />
    </>
  );
}
