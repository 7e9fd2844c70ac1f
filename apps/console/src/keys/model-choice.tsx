'use client';

import { Checkbox } from '@heroui/react';
import type { ModelView } from '@tidegate/control';
import { useState } from 'react';
import { FILTERED_FROM } from '../models/rows.ts';
import { FilterInput } from '../ui/filter-input.tsx';

export type ChosenFrom = Pick<ModelView, 'name' | 'kind' | 'condition'>;

interface ModelChoiceProps {
  readonly models: readonly ChosenFrom[];
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
  readonly most: number;
}

export function ModelChoice({ models, chosen, onChange, most }: ModelChoiceProps) {
  const [text, setText] = useState('');
  if (models.length === 0)
    return <p className="mt-3 text-sm text-muted">No model is published yet, so there is none to choose.</p>;
  const toggle = (name: string, selected: boolean) => {
    const next = new Set(chosen);
    if (selected) next.add(name);
    else next.delete(name);
    onChange(next);
  };
  const wanted = text.trim().toLowerCase();
  const found = models.filter(({ name }) => name.toLowerCase().includes(wanted));
  return (
    <fieldset className="mt-3">
      <legend className="sr-only">Models the key may call</legend>
      {models.length < FILTERED_FROM ? null : (
        <div className="mb-2 flex flex-wrap items-center gap-3">
          <FilterInput
            label="Filter the models"
            placeholder="Filter models"
            value={text}
            onChange={setText}
          />
          <p className="ml-auto text-[0.8125rem] text-muted tabular-nums" role="status">
            {chosen.size} of {models.length} chosen
          </p>
        </div>
      )}
      <div className="max-h-44 space-y-2 overflow-y-auto rounded-xl border border-border p-3">
        {found.length === 0 ? <p className="text-sm text-muted">No model matches the filter.</p> : null}
        {found.map(({ name, kind }) => (
          <Checkbox
            key={name}
            isSelected={chosen.has(name)}
            isDisabled={!chosen.has(name) && chosen.size >= most}
            onChange={(selected) => toggle(name, selected)}
          >
            <Checkbox.Content>
              <Checkbox.Control>
                <Checkbox.Indicator />
              </Checkbox.Control>
              <span className="min-w-0 text-sm wrap-anywhere">{name}</span>
              <span className="text-xs text-muted">{kind}</span>
            </Checkbox.Content>
          </Checkbox>
        ))}
      </div>
    </fieldset>
  );
}
