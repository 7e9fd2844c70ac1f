'use client';

import { Button, Checkbox, Input, Label, Modal } from '@heroui/react';
import type { CreatedKey, KeyView, ModelView } from '@tidegate/control';
import { type FormEvent, useState } from 'react';
import { firstUsable } from '../models/first-usable.ts';
import { NoUsable } from '../models/no-usable.tsx';
import { quickStarts } from '../models/quick-starts.ts';
import { useAct } from '../ui/act.ts';
import { CopyButton, Snippets } from '../ui/code.tsx';
import { Dialog } from '../ui/dialogs.tsx';
import { Choice, Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { whole } from '../ui/numbers.ts';
import { Note } from '../ui/page.tsx';
import { createKey } from './actions.ts';
import type { KeyRules } from './rules.ts';

export type ChosenFrom = Pick<ModelView, 'name' | 'kind' | 'condition'>;

interface CreateKeyProps {
  readonly org: string;
  readonly models: readonly ChosenFrom[];
  readonly rules: KeyRules;
  readonly today: string;
  readonly apiUrl: string;
  readonly onClose: () => void;
  /** Its settings are filled in. Its name is not, because names tell keys apart. */
  readonly like?: KeyView;
  /** Gets the key's value, too. */
  readonly onCreated?: (key: CreatedKey) => void;
}

/** Asks for the settings, then shows the key's value once. */
export function CreateKey(props: CreateKeyProps) {
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const onCreated = (key: CreatedKey) => {
    setCreated(key);
    props.onCreated?.(key);
  };
  if (created) return <CreatedKeyDialog {...props} created={created} />;
  return <SettingsDialog {...props} onCreated={onCreated} />;
}

type MayCall = 'all' | 'chosen';
const FIELDS = ['name', 'models', 'requestsPerMinute', 'requestsAtOnce', 'expiresOn'];

function SettingsDialog({
  org,
  models,
  rules,
  today,
  like,
  onClose,
  onCreated,
}: CreateKeyProps & { onCreated: (key: CreatedKey) => void }) {
  const { act, pending, refusal } = useAct();
  const [mayCall, setMayCall] = useState<MayCall>(like && !like.mayCall.all ? 'chosen' : 'all');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(like?.mayCall.models));
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const expiresOn = String(form.get('expiresOn') ?? '');
    const created = await act(() =>
      createKey({
        org,
        name: String(form.get('name') ?? ''),
        requestsPerMinute: Number(form.get('requestsPerMinute')),
        requestsAtOnce: Number(form.get('requestsAtOnce')),
        ...(expiresOn === '' ? {} : { expiresOn }),
        ...(mayCall === 'chosen' ? { models: [...chosen] } : {}),
      }),
    );
    if (created) onCreated(created);
  };
  const { requestsPerMinute: rpm, requestsAtOnce: atOnce } = rules;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={like ? `Create a key like “${like.name}”` : 'Create key'}
      mustAnswer={pending}
    >
      <Form onSubmit={submit} className="contents" refusal={refusal} fields={FIELDS}>
        <Modal.Body className="space-y-5">
          <Field
            label="Name"
            name="name"
            autoFocus
            hint={`Labels the key in this list and in the usage. Up to ${rules.name} characters.`}
          />
          <div>
            <Choice<MayCall>
              label="May call"
              name="models"
              value={mayCall}
              onChange={setMayCall}
              options={[
                { id: 'all', text: 'All models', hint: 'Also those published later' },
                { id: 'chosen', text: 'Chosen models', hint: `Up to ${rules.models}` },
              ]}
            />
            {mayCall === 'chosen' ? (
              <ModelChoice models={models} chosen={chosen} onChange={setChosen} most={rules.models} />
            ) : null}
          </div>
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
          <Field
            label="Expires on"
            name="expiresOn"
            type="date"
            defaultValue={
              like && !like.expiresAt && like.expiresOn && like.expiresOn >= today ? like.expiresOn : ''
            }
            input={{ min: today }}
            hint="Stops working at the end of that day (UTC). Leave empty for never."
          />
          <p className="text-[0.8125rem] leading-5 text-muted">
            A key cannot be edited later: to change it, create a new one and revoke the old one.
          </p>
        </Modal.Body>
        <Modal.Footer>
          <Button variant="tertiary" onPress={onClose} isDisabled={pending}>
            Cancel
          </Button>
          <Button type="submit" isPending={pending}>
            Create key
          </Button>
        </Modal.Footer>
      </Form>
    </Dialog>
  );
}

interface ModelChoiceProps {
  readonly models: readonly ChosenFrom[];
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
  readonly most: number;
}

function ModelChoice({ models, chosen, onChange, most }: ModelChoiceProps) {
  if (models.length === 0)
    return <p className="mt-3 text-sm text-muted">No model is published yet: there is none to choose.</p>;
  const toggle = (name: string, selected: boolean) => {
    const next = new Set(chosen);
    if (selected) next.add(name);
    else next.delete(name);
    onChange(next);
  };
  return (
    <fieldset className="mt-3 max-h-44 space-y-2 overflow-y-auto rounded-xl border border-border p-3">
      <legend className="sr-only">Models the key may call</legend>
      {models.map(({ name, kind }) => (
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
    </fieldset>
  );
}

function CreatedKeyDialog({
  org,
  created,
  models,
  apiUrl,
  onClose,
}: CreateKeyProps & { created: CreatedKey }) {
  const { all, models: chosen } = created.mayCall;
  const callable = all ? models : models.filter(({ name }) => chosen.includes(name));
  const example = firstUsable(callable);
  return (
    <Dialog isOpen onClose={onClose} title={`“${created.name}” is ready`} size="lg" mustAnswer>
      <Modal.Body className="space-y-5">
        <Note kind="warning">
          Copy the key now: it is shown this once and kept nowhere. A lost key is revoked and replaced.
        </Note>
        <div>
          <Label htmlFor="new-key">API key</Label>
          <div className="mt-1.5 flex items-center gap-2">
            <Input
              id="new-key"
              readOnly
              fullWidth
              value={created.key}
              className="font-mono text-xs"
              onFocus={(event) => event.target.select()}
            />
            <CopyButton text={created.key} label="Copy the key" />
          </div>
        </div>
        {example ? null : (
          <NoUsable
            count={callable.length}
            which={all ? 'all' : 'all that this key may call'}
            mayChange
            href={`/o/${org}/api`}
            where="on the API screen"
            newTab
          />
        )}
        <Snippets
          label="First request"
          snippets={quickStarts({ apiUrl, key: created.key, model: example?.name ?? 'MODEL' })}
        />
      </Modal.Body>
      <Modal.Footer>
        <Button onPress={onClose}>I have copied the key</Button>
      </Modal.Footer>
    </Dialog>
  );
}
