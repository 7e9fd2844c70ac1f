'use client';

import { Modal } from '@heroui/react';
import type { CreatedKey, KeyView } from '@tidegate/control';
import { type FormEvent, useState } from 'react';
import { useAct } from '../ui/act.ts';
import { FormDialog } from '../ui/dialogs.tsx';
import { Choice, Field } from '../ui/field.tsx';
import { typedWhole, whole } from '../ui/numbers.ts';
import { createKey } from './actions.ts';
import { type ChosenFrom, ModelChoice } from './model-choice.tsx';
import type { KeyRules } from './rules.ts';

interface KeySettingsProps {
  readonly org: string;
  readonly models: readonly ChosenFrom[];
  readonly rules: KeyRules;
  readonly today: string;
  readonly onClose: () => void;
  /** A key whose settings are filled in. */
  readonly like?: KeyView;
  readonly onCreated: (key: CreatedKey) => void;
}

/** Which models a key may call. */
type ModelScope = 'all' | 'chosen';
const FIELDS = ['name', 'models', 'requestsPerMinute', 'requestsAtOnce', 'expiresOn'];

/** Asks for a new key's settings, and creates it. */
export function KeySettingsDialog({ org, models, rules, today, like, onClose, onCreated }: KeySettingsProps) {
  const { act, pending, refusal } = useAct();
  const [scope, setScope] = useState<ModelScope>(like && !like.mayCall.all ? 'chosen' : 'all');
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set(like?.mayCall.models));
  // A model that has been deleted meanwhile could no longer be deselected.
  const chosen = new Set(models.flatMap(({ name }) => (picked.has(name) ? [name] : [])));
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const models = scope === 'chosen' ? [...chosen] : null;
    const created = await act(() => createKey({ org, ...settingsIn(form), ...(models ? { models } : {}) }));
    if (created) onCreated(created);
  };
  return (
    <FormDialog
      title={like ? `Create a key like “${like.name}”` : 'Create key'}
      submit="Create key"
      fields={FIELDS}
      refusal={refusal}
      pending={pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <Modal.Body className="space-y-5">
        <Field
          label="Name"
          name="name"
          autoFocus
          hint={`Labels the key in this list and in the usage. Up to ${rules.name} characters.`}
        />
        <div>
          <Choice<ModelScope>
            label="May call"
            name="models"
            value={scope}
            onChange={setScope}
            options={[
              { id: 'all', text: 'All models', hint: 'Including those published later' },
              { id: 'chosen', text: 'Chosen models', hint: `Up to ${rules.models}` },
            ]}
          />
          {scope === 'chosen' ? (
            <ModelChoice models={models} chosen={chosen} onChange={setPicked} most={rules.models} />
          ) : null}
        </div>
        <LimitFields rules={rules} like={like} />
        <ExpiryField today={today} like={like} />
        <p className="text-[0.8125rem] leading-5 text-muted">
          A key cannot be edited later: to change it, create a new one and revoke the old one.
        </p>
      </Modal.Body>
    </FormDialog>
  );
}

function settingsIn(form: FormData) {
  const expiresOn = String(form.get('expiresOn') ?? '');
  return {
    name: String(form.get('name') ?? ''),
    requestsPerMinute: typedWhole(String(form.get('requestsPerMinute'))),
    requestsAtOnce: typedWhole(String(form.get('requestsAtOnce'))),
    ...(expiresOn === '' ? {} : { expiresOn }),
  };
}

function LimitFields({ rules, like }: { rules: KeyRules; like: KeyView | undefined }) {
  const { requestsPerMinute: rpm, requestsAtOnce: atOnce } = rules;
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field
        label="Requests per minute"
        name="requestsPerMinute"
        type="number"
        defaultValue={String(like?.requestsPerMinute ?? rpm.default)}
        input={{ min: rpm.min, max: rpm.max, inputMode: 'numeric' }}
        hint={`${rpm.min} to ${whole(rpm.max)} in any 60 seconds.`}
      />
      <Field
        label="Requests at once"
        name="requestsAtOnce"
        type="number"
        defaultValue={String(like?.requestsAtOnce ?? atOnce.default)}
        input={{ min: atOnce.min, max: atOnce.max, inputMode: 'numeric' }}
        hint={`${atOnce.min} to ${atOnce.max} in progress.`}
      />
    </div>
  );
}

function ExpiryField({ today, like }: { today: string; like: KeyView | undefined }) {
  const kept = like && !like.expiresAt && like.expiresOn && like.expiresOn >= today ? like.expiresOn : '';
  return (
    <Field
      label="Expires on"
      name="expiresOn"
      type="date"
      defaultValue={kept}
      input={{ min: today }}
      hint="Stops working at the end of that day (UTC). Leave it empty for no expiry."
    />
  );
}
