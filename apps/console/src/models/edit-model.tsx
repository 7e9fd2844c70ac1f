'use client';

import { Checkbox, Modal, toast } from '@heroui/react';
import type { ChangeModelInput, ModelCheck, ModelDetail, ModelSettings } from '@tidegate/control';
import { type FormEvent, useState } from 'react';
import { useAct } from '../ui/act.ts';
import { FormDialog } from '../ui/dialogs.tsx';
import { Field } from '../ui/field.tsx';
import { changeModel, checkChange } from './actions.ts';
import { changesOf } from './changes.ts';
import { CheckResult, isOverrulable, textOfCheck } from './check-result.tsx';

const FIELDS = [
  ...['urls', 'contextTokens', 'upstreamModel', 'upstreamKey', 'healthPath'],
  ...['sleepAfterS', 'startTimeoutS'],
];

interface EditModelProps {
  readonly org: string;
  readonly model: ModelDetail;
  readonly settings: ModelSettings;
  readonly onClose: () => void;
}

/** Changes where a model runs and how. Its name, kind, mode, keys and usage stay. */
export function EditModel({ org, model, settings, onClose }: EditModelProps) {
  const { act, pending, refusal } = useAct();
  // The page refreshes under the dialog, but the dialog's fields keep their first values.
  const [base] = useState({ model, settings });
  const [dropsKey, setDropsKey] = useState(false);
  /** A check that found a problem with the change as it is typed now. */
  const [doubt, setDoubt] = useState<ModelCheck | null>(null);
  const overrule = doubt !== null || isOverrulable(refusal);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const typed = Object.fromEntries(FIELDS.map((name) => [name, String(form.get(name) ?? '').trim()]));
    const changes = changesOf({ base, typed, dropsKey });
    if (Object.keys(changes).length === 0) return onClose();
    const input: ChangeModelInput = { org, name: model.name, ...changes };
    const found = overrule ? null : await act(() => checkChange(input));
    if (found === undefined) return;
    if (found && !found.ok) return setDoubt(found);
    const changed = await act(() => changeModel(input));
    if (!changed) return;
    if (changed.runnerReached) toast.success(`Model changed.${found ? ` ${textOfCheck(found)}` : ''}`);
    else toast.warning('The change is saved. It takes effect when the runner is back.');
    onClose();
  };
  return (
    <FormDialog
      title={`Edit “${model.name}”`}
      submit={overrule ? 'Save anyway' : 'Save'}
      fields={FIELDS}
      refusal={refusal}
      pending={pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <Modal.Body className="space-y-5" onChange={() => setDoubt(null)}>
        <p className="text-[0.8125rem] leading-5 text-muted">
          Its name, its keys and its usage stay. Requests in flight finish with the old settings.
          {settings.urls ? '' : ' A running process adopts most changes when it next starts.'}
        </p>
        {settings.urls ? (
          <Field
            label="Servers"
            name="urls"
            autoFocus
            defaultValue={settings.urls.join('\n')}
            area={{ rows: Math.min(6, settings.urls.length + 1), className: 'font-mono text-xs' }}
            hint="Base URLs of servers that serve this model, one per line."
          />
        ) : null}
        <Field
          label="Context length"
          name="contextTokens"
          type="number"
          autoFocus={!settings.urls}
          defaultValue={String(model.contextTokens)}
          hint="The most tokens in a request and its answer together. Each request reserves this many."
        />
        <Timing model={model} settings={settings} />
        <Field
          label="Upstream model"
          name="upstreamModel"
          defaultValue={settings.upstreamModel ?? ''}
          hint="If the servers use a different name."
        />
        <div>
          <Field
            label="Upstream key"
            name="upstreamKey"
            type="password"
            autoComplete="off"
            isDisabled={dropsKey}
            hint={
              settings.hasUpstreamKey
                ? 'A key is stored. Leave this empty to keep it.'
                : 'If the servers require one. Stored encrypted and never shown.'
            }
          />
          {settings.hasUpstreamKey ? (
            <Checkbox className="mt-2" isSelected={dropsKey} onChange={setDropsKey}>
              <Checkbox.Content>
                <Checkbox.Control>
                  <Checkbox.Indicator />
                </Checkbox.Control>
                <span className="text-sm">Remove the key</span>
              </Checkbox.Content>
            </Checkbox>
          ) : null}
        </div>
        <Field
          label="Path to probe"
          name="healthPath"
          defaultValue={settings.healthPath ?? ''}
          input={{ className: 'font-mono text-xs', placeholder: '/health' }}
          hint={
            settings.urls
              ? 'Needed only if the list of models is missing or incomplete.'
              : 'A path that answers once the model is ready.'
          }
        />
        <CheckResult check={doubt} anyway="save" />
      </Modal.Body>
    </FormDialog>
  );
}

/** For models that sleep, and for commands. */
function Timing({ model, settings }: Pick<EditModelProps, 'model' | 'settings'>) {
  const sleeps = model.mode === 'wake_on_request';
  const starts = settings.urls === null;
  if (!sleeps && !starts) return null;
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      {sleeps ? (
        <Field
          label="Sleeps after"
          name="sleepAfterS"
          type="number"
          defaultValue={String(model.sleepAfterS ?? '')}
          hint="Seconds without a request."
        />
      ) : null}
      {starts ? (
        <Field
          label="Start timeout"
          name="startTimeoutS"
          type="number"
          defaultValue={settings.startTimeoutS === null ? '' : String(settings.startTimeoutS)}
          hint="Seconds. If empty, 10 minutes."
        />
      ) : null}
    </div>
  );
}
