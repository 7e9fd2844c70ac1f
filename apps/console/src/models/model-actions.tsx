'use client';

import { Button, toast } from '@heroui/react';
import type { ModelView } from '@tidegate/control';
import { useToastAct } from '../ui/act.ts';
import { Confirm } from '../ui/dialogs.tsx';
import { deleteModel, startModel, stopModel } from './actions.ts';

export const isStartable = ({ condition }: Pick<ModelView, 'condition'>): boolean =>
  condition === 'stopped' || condition === 'failed';

/** Starts a model without asking: nothing is lost by that. */
export function StartModel({ org, name, small = false }: { org: string; name: string; small?: boolean }) {
  const { act, pending } = useToastAct();
  return (
    <Button
      {...(small ? { size: 'sm', variant: 'ghost', className: 'min-w-20' } : { variant: 'secondary' })}
      onPress={() => act(() => startModel(org, name))}
      isPending={pending}
      aria-label={`Start ${name}`}
    >
      <span className={`icon-play ${small ? 'size-3.5' : 'size-4'}`} aria-hidden />
      Start
    </Button>
  );
}

/** What an owner wants to do with a model, and has not confirmed yet. */
export interface AskedOfModel {
  readonly what: 'stop' | 'delete';
  readonly name: string;
}

interface ModelConfirmsProps {
  readonly org: string;
  readonly asked: AskedOfModel | null;
  readonly onClose: () => void;
  readonly onDeleted?: () => void;
}

/** Asks before a model is stopped or deleted. */
export function ModelConfirms({ org, asked, onClose, onDeleted }: ModelConfirmsProps) {
  const name = asked?.name ?? '';
  const deleted = () => {
    toast.success('Model deleted.');
    onDeleted?.();
  };
  // The page of a deleted model is gone, and the dialog with it.
  const deletedNotInForce = (why: string) => {
    toast.warning(why, { timeout: 0 });
    onDeleted?.();
  };
  return (
    <>
      <Confirm
        isOpen={asked?.what === 'stop'}
        onClose={onClose}
        title={`Stop “${name}”?`}
        confirm="Stop model"
        danger={false}
        action={() => stopModel(org, name)}
      >
        <p>
          Requests to it are refused with <code>model_unavailable</code> until an owner starts it again. It
          stays in the list of models. If Tidegate runs the model, answers in progress end as errors.
        </p>
      </Confirm>
      <Confirm
        isOpen={asked?.what === 'delete'}
        onClose={onClose}
        title={`Delete “${name}”?`}
        confirm="Delete model"
        action={() => deleteModel(org, name)}
        onDone={deleted}
        onNotInForce={deletedNotInForce}
      >
        <p>
          It leaves the API immediately. Keys limited to it show it as deleted and do not reach a later model
          of the same name. Its usage stays.
        </p>
      </Confirm>
    </>
  );
}
