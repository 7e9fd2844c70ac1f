import type { Condition } from '@tidegate/control';
import { useAddressTexts } from '../ui/address.ts';
import { useAllRows } from '../ui/all-rows.ts';
import { Choice } from '../ui/field.tsx';
import { FilterInput } from '../ui/filter-input.tsx';
import { ShowMore } from '../ui/show-more.tsx';
import { conditionName } from './condition.tsx';
import { ModelsTable } from './models-table.tsx';
import { FILTERED_FROM, MODELS_IN_ADDRESS, type ModelTableRow, matching } from './rows.ts';

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

/** The models with their conditions, and a filter if there are many. */
export function ModelsList({ org, mayChange, models, total, conditions }: ModelsListProps) {
  const rows = useAllRows({ sent: models.length, total });
  const [texts, set] = useAddressTexts(MODELS_IN_ADDRESS, rows.fetching);
  const text = texts.find;
  const condition = CONDITIONS.find((one) => one === texts.condition) ?? 'all';
  const found = matching(models, { text, condition });
  const unsent = text === '' && condition === 'all' ? total - models.length : 0;
  const choices = CONDITIONS.filter((one) => conditions[one] !== undefined || one === condition);
  return (
    <>
      {total < FILTERED_FROM && text === '' && condition === 'all' ? null : (
        <div className="flex flex-wrap items-center gap-3 border-t border-border px-4 py-3">
          <FilterInput
            label="Filter by name"
            placeholder="Filter models"
            value={text}
            onFocus={rows.fetchAll}
            onChange={(find) => set({ find })}
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
              set({ condition: chosen === 'all' ? '' : chosen });
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
