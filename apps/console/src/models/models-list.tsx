import type { Condition } from '@tidegate/control';
import { useState } from 'react';
import { useAllRows } from '../ui/all-rows.ts';
import { Choice } from '../ui/field.tsx';
import { FilterInput } from '../ui/filter-input.tsx';
import { ShowMore } from '../ui/show-more.tsx';
import { conditionName } from './condition.tsx';
import { ModelsTable } from './models-table.tsx';
import { type ModelTableRow, matching } from './rows.ts';

/** Fewer can be looked through without a filter. */
const FILTERED_FROM = 12;
const CONDITIONS = ['failed', 'running', 'starting', 'asleep', 'stopped'] as const;

export interface ModelsListProps {
  readonly org: string;
  readonly mayChange: boolean;
  /** The first, or all. */
  readonly models: readonly ModelTableRow[];
  readonly total: number;
  /** How many there are in each condition. */
  readonly conditions: Partial<Record<Condition, number>>;
}

/** The models with their conditions, and a filter if they are many. */
export function ModelsList({ org, mayChange, models, total, conditions }: ModelsListProps) {
  const [text, setText] = useState('');
  const [condition, setCondition] = useState<Condition | 'all'>('all');
  const rows = useAllRows({ sent: models.length, total });
  const found = matching(models, { text, condition });
  const unsent = text === '' && condition === 'all' ? total - models.length : 0;
  const choices = CONDITIONS.filter((one) => conditions[one] !== undefined || one === condition);
  return (
    <>
      {total < FILTERED_FROM ? null : (
        <div className="flex flex-wrap items-center gap-3 border-t border-border px-4 py-3">
          <FilterInput
            label="Filter by name"
            placeholder="Filter models"
            value={text}
            onFocus={rows.fetchAll}
            onChange={setText}
          />
          <Choice
            label="Condition"
            hideLabel
            options={[
              { id: 'all', text: 'All conditions' },
              ...choices.map((id) => ({ id, text: `${conditionName(id)} (${conditions[id] ?? 0})` })),
            ]}
            value={condition}
            onChange={(chosen) => {
              rows.fetchAll();
              setCondition(chosen);
            }}
            className="w-44"
          />
        </div>
      )}
      {found.length === 0 ? (
        <p className="border-t border-border px-6 py-14 text-center text-sm text-muted">
          {rows.fetching ? 'Looking through all models…' : 'No model matches the filter.'}
        </p>
      ) : (
        <ModelsTable org={org} models={found.slice(0, rows.shown)} mayChange={mayChange} />
      )}
      <ShowMore more={found.length + unsent - rows.shown} onPress={rows.showMore} />
    </>
  );
}
