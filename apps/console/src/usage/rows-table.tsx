'use client';

import { Button } from '@heroui/react';
import type { UsageRowView } from '@tidegate/control';
import { useState } from 'react';
import { duration, whole } from '../ui/numbers.ts';
import { Scroll } from '../ui/scroll.tsx';

const PAGE = 50;

export function RowsTable({ rows }: { rows: readonly UsageRowView[] }) {
  const [shown, setShown] = useState(PAGE);
  if (rows.length === 0) return <p className="px-5 pb-6 text-sm text-muted">Nothing in the last 30 days.</p>;
  return (
    <>
      <Scroll label="Usage by key and model">
        <table className="grid-table min-w-[48rem] border-t border-border">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">Model</th>
              {[
                'Requests',
                'Errors',
                'Tokens in',
                'Tokens out',
                'Reserved or unreported',
                'Average time',
              ].map((name) => (
                <th key={name} scope="col" className="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, shown).map((row) => (
              <tr key={`${row.keyId} ${row.modelId}`}>
                <th scope="row">
                  <span
                    className={`block max-w-48 truncate ${row.keyPrefix ? 'font-medium' : 'text-muted italic'}`}
                  >
                    {row.key}
                  </span>
                  {row.keyPrefix ? (
                    <code className="font-mono text-xs text-muted">{row.keyPrefix}…</code>
                  ) : null}
                </th>
                <td>
                  {row.model}
                  {row.modelDeleted ? <span className="text-muted"> (deleted)</span> : null}
                </td>
                <td className="number">{whole(row.requests)}</td>
                <td className="number">{whole(row.errors)}</td>
                <td className="number">{whole(row.promptTokens)}</td>
                <td className="number">{whole(row.completionTokens)}</td>
                <td className="number">{whole(row.reservedTokens)}</td>
                <td className="number">{duration(row.averageMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {rows.length > shown ? (
        <div className="border-t border-separator p-3 text-center">
          <Button size="sm" variant="ghost" onPress={() => setShown(shown + PAGE)}>
            Show more ({whole(rows.length - shown)})
          </Button>
        </div>
      ) : null}
    </>
  );
}
