'use client';

import type { ConditionChangeView } from '@tidegate/control';
import { useState } from 'react';
import { span } from '../ui/relative.ts';
import { ShowMore } from '../ui/show-more.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { ConditionDot } from './condition.tsx';

const PAGE = 10;

/** The conditions that a model has had, newest first. */
export function HistoryTable({ changes }: { changes: readonly ConditionChangeView[] }) {
  const [shown, setShown] = useState(PAGE);
  if (changes.length === 0)
    return <p className="px-5 pb-6 text-sm text-muted">Nothing has changed in the last 35 days.</p>;
  return (
    <>
      <Table label="Conditions" cardsBelow="2xl" className="border-t border-border">
        <thead>
          <tr>
            <th scope="col" className="w-36">
              Condition
            </th>
            <th scope="col" className="w-36">
              Began
            </th>
            <th scope="col" className="w-28">
              For
            </th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {changes.slice(0, shown).map(({ condition, reason, at }, i) => (
            <tr key={at}>
              <th scope="row">
                <ConditionDot condition={condition} still />
              </th>
              <td data-label="Began">
                <Time iso={at} />
              </td>
              <td data-label="For" className="tabular-nums">
                {lasted(at, changes[i - 1]?.at)}
              </td>
              <td data-label="Reason" className="wide text-muted">
                {reason ?? '–'}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      <ShowMore more={changes.length - shown} onPress={() => setShown(changes.length)} />
    </>
  );
}

/**
 * How long a condition lasted: until the next one, in the row above. The newest one still lasts.
 */
const lasted = (at: string, next: string | undefined): string =>
  next === undefined ? 'until now' : span(Date.parse(next) - Date.parse(at));
