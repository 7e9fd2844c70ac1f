'use client';

import { Button, Modal, toast } from '@heroui/react';
import type { ModelCheck, ServedModelView } from '@tidegate/control';
import { type FormEvent, useRef, useState } from 'react';
import { useAct } from '../ui/act.ts';
import { FormDialog } from '../ui/dialogs.tsx';
import { Choice, Field } from '../ui/field.tsx';
import { checkModel, publishModel } from './actions.ts';
import { CheckResult, isOverrulable, textOfCheck } from './check-result.tsx';
import {
  checkOf,
  connectionOf,
  filledIn,
  NOTHING_YET,
  type Publication,
  publicationInputOf,
} from './publication.ts';

const FIELDS = ['name', 'kind', 'contextTokens', 'urls', 'upstreamModel', 'upstreamKey'];

/** What a check found, and which check it was. */
interface Checked {
  readonly found: ModelCheck;
  /** Whether it was the check before publishing, which the owner may overrule. */
  readonly beforePublishing: boolean;
}

/** Publishes a model that already runs somewhere. Its servers are probed and share the requests. */
export function PublishModel({ org, onClose }: { org: string; onClose: () => void }) {
  const publishing = useAct();
  const testing = useAct();
  const [typed, setTyped] = useState<Publication>(NOTHING_YET);
  const newest = useRef(typed);
  newest.current = typed;
  const [checked, setChecked] = useState<Checked | null>(null);
  const [served, setServed] = useState<ServedModelView>();
  const set = (part: Partial<Publication>) => {
    setTyped((now) => ({ ...now, ...part }));
    setChecked(null);
  };
  const choose = (model: ServedModelView) => {
    setTyped((now) => filledIn(now, model, served));
    setServed(model);
  };
  const test = async () => {
    publishing.clear();
    const found = await testing.act(() => checkModel(connectionOf(org, typed)));
    const { urls, upstreamKey } = newest.current;
    // The servers may have been edited meanwhile. Then this says nothing about them.
    if (!found || urls !== typed.urls || upstreamKey !== typed.upstreamKey) return;
    setChecked({ found, beforePublishing: false });
    const [first] = found.models;
    if (first) choose(first);
  };
  const publish = async (overruled: boolean) => {
    const found = overruled ? undefined : await publishing.act(() => checkModel(checkOf(org, typed)));
    if (!overruled && !found) return;
    if (found && !found.ok) return setChecked({ found, beforePublishing: true });
    const published = await publishing.act(() => publishModel(publicationInputOf(org, typed)));
    if (!published) return;
    const reached = found ? ` ${textOfCheck(found)}` : '';
    if (published.runnerReached) toast.success(`“${published.name}” is published.${reached}`);
    else
      toast.warning(
        `“${published.name}” is published. The runner is not available right now and will start it when it is back.`,
      );
    onClose();
  };
  const overrule = checked?.beforePublishing === true || isOverrulable(publishing.refusal);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    testing.clear();
    await publish(overrule);
  };
  const models = checked?.found.models ?? [];
  const refusal = publishing.refusal ?? testing.refusal;
  return (
    <FormDialog
      title="Publish model"
      submit={overrule ? 'Publish anyway' : 'Publish model'}
      fields={FIELDS}
      refusal={refusal}
      pending={publishing.pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <Modal.Body className="space-y-5">
        <Field
          label="Servers"
          name="urls"
          autoFocus
          value={typed.urls}
          onChange={(urls) => set({ urls })}
          area={{ rows: 2, placeholder: 'http://10.0.0.5:8000/v1', className: 'font-mono text-xs' }}
          hint="Base URLs of servers that speak chat completions and serve this model, one per line."
        />
        <Field
          label="Upstream key"
          name="upstreamKey"
          type="password"
          autoComplete="off"
          value={typed.upstreamKey}
          onChange={(upstreamKey) => set({ upstreamKey })}
          hint="If the servers require one. Stored encrypted and never shown."
        />
        <div>
          <Button variant="secondary" size="sm" onPress={test} isPending={testing.pending}>
            Test the connection
          </Button>
          <CheckResult check={checked?.found ?? null} anyway={checked?.beforePublishing ? 'publish' : null} />
        </div>
        {models.length > 1 && served ? (
          <Choice
            label="Model on the servers"
            value={served.upstreamModel}
            onChange={(id) => {
              const chosen = models.find(({ upstreamModel }) => upstreamModel === id);
              if (chosen) choose(chosen);
            }}
            options={models.map(({ upstreamModel }) => ({ id: upstreamModel, text: upstreamModel }))}
          />
        ) : null}
        <Field
          label="Name"
          name="name"
          value={typed.name}
          onChange={(name) => set({ name })}
          hint="What callers send as model. Letters, digits and . _ : / -"
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <Choice<Publication['kind']>
            label="Kind"
            name="kind"
            value={typed.kind}
            onChange={(kind) => setTyped((now) => ({ ...now, kind }))}
            options={[
              { id: 'text', text: 'Text' },
              { id: 'vision', text: 'Vision', hint: 'Takes images too' },
            ]}
          />
          <Field
            label="Context length"
            name="contextTokens"
            type="number"
            value={typed.contextTokens}
            onChange={(contextTokens) => set({ contextTokens })}
            hint="The most tokens in a request and its answer together. Each request reserves this many."
          />
        </div>
        <Field
          label="Upstream model"
          name="upstreamModel"
          value={typed.upstreamModel}
          onChange={(upstreamModel) => set({ upstreamModel })}
          hint="If the servers use a different name."
        />
        <p className="text-[0.8125rem] leading-5 text-muted">
          Models that Tidegate starts itself and puts to sleep are published by an operator of this
          installation.
        </p>
      </Modal.Body>
    </FormDialog>
  );
}
