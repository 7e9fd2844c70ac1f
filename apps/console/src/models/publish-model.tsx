'use client';

import { Button, Modal, toast } from '@heroui/react';
import { type FormEvent, useState } from 'react';
import { useAct } from '../ui/act.ts';
import { Dialog } from '../ui/dialogs.tsx';
import { Choice, Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { publishModel } from './actions.ts';

type Kind = 'text' | 'vision';
const FIELDS = ['name', 'kind', 'contextTokens', 'urls', 'upstreamModel', 'upstreamKey'];
const DEFAULT_CONTEXT_TOKENS = '8192';

/** Publishes a model that already runs somewhere. Its servers are probed and share the requests. */
export function PublishModel({ org, onClose }: { org: string; onClose: () => void }) {
  const { act, pending, refusal } = useAct();
  const [kind, setKind] = useState<Kind>('text');
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const given = (name: string) => String(form.get(name) ?? '').trim();
    const urls = given('urls')
      .split(/[\s,]+/)
      .filter((url) => url !== '');
    const published = await act(() =>
      publishModel({
        ...{
          org,
          name: given('name'),
          kind,
          mode: 'always_on',
          contextTokens: Number(given('contextTokens')),
          urls,
        },
        ...(given('upstreamModel') ? { upstreamModel: given('upstreamModel') } : {}),
        ...(given('upstreamKey') ? { upstreamKey: given('upstreamKey') } : {}),
      }),
    );
    if (!published) return;
    if (published.runnerTold) toast.success(`“${published.name}” is published.`);
    else
      toast.warning(
        `“${published.name}” is published. The runner is not available right now and will start it when it is back.`,
      );
    onClose();
  };
  return (
    <Dialog isOpen onClose={onClose} title="Publish model">
      <Form onSubmit={submit} className="contents" refusal={refusal} fields={FIELDS}>
        <Modal.Body className="space-y-5">
          <Field
            label="Name"
            name="name"
            autoFocus
            hint="What callers send as model. Letters, digits and . _ : / -"
          />
          <Field
            label="Servers"
            name="urls"
            area={{ rows: 2, placeholder: 'http://10.0.0.5:8000/v1', className: 'font-mono text-xs' }}
            hint="Base URLs of servers that speak chat completions and serve this model, one a line."
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <Choice<Kind>
              label="Kind"
              name="kind"
              value={kind}
              onChange={setKind}
              options={[
                { id: 'text', text: 'Text' },
                { id: 'vision', text: 'Vision', hint: 'Takes images too' },
              ]}
            />
            <Field
              label="Context length"
              name="contextTokens"
              type="number"
              defaultValue={DEFAULT_CONTEXT_TOKENS}
              hint="Tokens it serves. Each request reserves as many."
            />
          </div>
          <Field label="Name at the servers" name="upstreamModel" hint="If they know it by another one." />
          <Field
            label="Key for the servers"
            name="upstreamKey"
            type="password"
            autoComplete="off"
            hint="If they ask for one. Kept encrypted and never shown."
          />
          <p className="text-[0.8125rem] leading-5 text-muted">
            Models that Tidegate starts itself and puts to sleep are published by an operator of this
            installation.
          </p>
        </Modal.Body>
        <Modal.Footer>
          <Button variant="tertiary" onPress={onClose}>
            Cancel
          </Button>
          <Button type="submit" isPending={pending}>
            Publish model
          </Button>
        </Modal.Footer>
      </Form>
    </Dialog>
  );
}
