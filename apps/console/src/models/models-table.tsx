'use client';

import { Button, toast } from '@heroui/react';
import type { ListedModelView, ModelView } from '@tidegate/control';
import { useState } from 'react';
import { useAct } from '../ui/act.ts';
import { Confirm } from '../ui/dialogs.tsx';
import { seconds, whole } from '../ui/numbers.ts';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { deleteModel, startModel, stopModel } from './actions.ts';
import { ConditionMark } from './condition.tsx';

interface ModelsTableProps {
  readonly org: string;
  readonly models: readonly ListedModelView[];
  readonly mayChange: boolean;
}

export function ModelsTable({ org, models, mayChange }: ModelsTableProps) {
  const [asked, setAsked] = useState<{ readonly what: 'stop' | 'delete'; readonly name: string } | null>(
    null,
  );
  const close = () => setAsked(null);
  const name = asked?.name ?? '';
  const severalPools = new Set(models.map(({ pool }) => pool)).size > 1;
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
                <span className="block font-medium">{model.name}</span>
                <span className="text-xs text-muted tabular-nums">
                  {model.kind === 'vision' ? 'Vision' : 'Text'} · context {whole(model.contextTokens)}
                  {severalPools ? ` · pool ${model.pool}` : ''}
                </span>
              </th>
              <td data-label="Condition">
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
                <Mode {...model} />
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
      <Confirm
        isOpen={asked?.what === 'stop'}
        onClose={close}
        title={`Stop “${name}”?`}
        confirm="Stop model"
        danger={false}
        action={() => stopModel(org, name)}
      >
        <p>
          Requests to it are refused with <code>model_unavailable</code> until an owner starts it again. It
          stays in the list of models.
        </p>
      </Confirm>
      <Confirm
        isOpen={asked?.what === 'delete'}
        onClose={close}
        title={`Delete “${name}”?`}
        confirm="Delete model"
        action={() => deleteModel(org, name)}
        onDone={() => toast.success('The model is deleted.')}
      >
        <p>
          It leaves the API at once. Keys limited to it show it as deleted and do not reach a later model of
          the same name. Its usage stays.
        </p>
      </Confirm>
    </>
  );
}

function Mode({ mode, sleepAfterS }: ModelView) {
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
function InFlight({ count }: { count: number | null }) {
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
  model: ModelView;
  onAsk: (what: 'stop' | 'delete') => void;
}) {
  const { act, pending } = useAct();
  const startable = model.condition === 'stopped' || model.condition === 'failed';
  const start = () =>
    act(async () => {
      const result = await startModel(org, model.name);
      if (!result.ok) toast.danger(result.refusal.message);
      return result;
    });
  return (
    <>
      {startable ? (
        <Button
          size="sm"
          variant="ghost"
          className="min-w-20"
          onPress={start}
          isPending={pending}
          aria-label={`Start ${model.name}`}
        >
          <span className="icon-play size-3.5" aria-hidden />
          Start
        </Button>
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
