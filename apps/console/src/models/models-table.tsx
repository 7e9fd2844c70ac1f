'use client';

import { Button } from '@heroui/react';
import type { ModelView } from '@tidegate/control';
import { useState } from 'react';
import { Link } from '../ui/link.tsx';
import { seconds, whole } from '../ui/numbers.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { ConditionMark } from './condition.tsx';
import { type AskedOfModel, isStartable, ModelConfirms, StartModel } from './model-actions.tsx';
import type { ModelTableRow } from './rows.ts';

interface ModelsTableProps {
  readonly org: string;
  readonly models: readonly ModelTableRow[];
  readonly mayChange: boolean;
}

export function ModelsTable({ org, models, mayChange }: ModelsTableProps) {
  const [asked, setAsked] = useState<AskedOfModel | null>(null);
  return (
    <>
      <Table label="List of models" cardsBelow="4xl" className="border-t border-border">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="w-54">
              Condition
            </th>
            <th scope="col" className="number w-22">
              In flight
            </th>
            <th scope="col" className="w-38">
              Mode
            </th>
            <th scope="col" className="w-30 @min-[68rem]:w-48">
              Published
            </th>
            {mayChange ? (
              <th scope="col" className="w-40">
                <span className="sr-only">Actions</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {models.map((model) => (
            <tr key={model.id}>
              <th scope="row">
                <Link href={`/o/${org}/api/${model.id}`} className="block font-medium quiet-link">
                  {model.name}
                </Link>
                <span className="text-xs text-muted tabular-nums">
                  {model.kind === 'vision' ? 'Vision' : 'Text'} · context {whole(model.contextTokens)}
                  {model.pool === null ? '' : ` · pool ${model.pool}`}
                </span>
              </th>
              <td data-label="Condition" className="wide">
                <ConditionMark
                  condition={model.condition}
                  reason={model.conditionReason}
                  replicas={model.replicas}
                />
              </td>
              <td data-label="In flight" className="number">
                <InFlight count={model.inFlight} />
              </td>
              <td data-label="Mode">
                <ModeText {...model} />
              </td>
              <td data-label="Published">
                <Time iso={model.publishedAt} />
              </td>
              {mayChange ? (
                <td className="actions">
                  <ModelActions
                    org={org}
                    model={model}
                    onAsk={(what) => setAsked({ what, name: model.name })}
                  />
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </Table>
      <ModelConfirms org={org} asked={asked} onClose={() => setAsked(null)} />
    </>
  );
}

export function ModeText({ mode, sleepAfterS }: Pick<ModelView, 'mode' | 'sleepAfterS'>) {
  if (mode === 'always_on') return 'Always on';
  return (
    <>
      Wake on request
      {sleepAfterS ? (
        <span className="block text-xs text-muted">Sleeps after {seconds(sleepAfterS)}</span>
      ) : null}
    </>
  );
}

/** Shows a dash while the runner is unavailable, because no number is better than a wrong one. */
export function InFlight({ count }: { count: number | null }) {
  if (count !== null) return whole(count);
  return (
    <span title="Not available right now">
      <span aria-hidden>–</span>
      <span className="sr-only">Not available right now</span>
    </span>
  );
}

function ModelActions({
  org,
  model,
  onAsk,
}: {
  org: string;
  model: ModelTableRow;
  onAsk: (what: 'stop' | 'delete') => void;
}) {
  return (
    <>
      {isStartable(model) ? (
        <StartModel org={org} name={model.name} small />
      ) : (
        <Button
          size="sm"
          variant="ghost"
          className="min-w-20"
          onPress={() => onAsk('stop')}
          aria-label={`Stop ${model.name}`}
        >
          <span className="icon-square size-3.5" aria-hidden />
          Stop
        </Button>
      )}
      <Button
        size="sm"
        variant="ghost"
        isIconOnly
        onPress={() => onAsk('delete')}
        aria-label={`Delete ${model.name}`}
      >
        <span className="icon-trash size-3.5" aria-hidden />
      </Button>
    </>
  );
}
