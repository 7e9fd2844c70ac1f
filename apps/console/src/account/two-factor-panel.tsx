'use client';

import { Button, Modal, toast } from '@heroui/react';
import type { Result } from '@tidegate/control';
import Link from 'next/link';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useAct } from '../ui/act.ts';
import { Dialog } from '../ui/dialogs.tsx';
import { Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Panel } from '../ui/page.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';
import { removeTwoFactor, renewRecoveryCodes } from './two-factor-actions.ts';

export function TwoFactorPanel({ email, isOn }: { email: string; isOn: boolean }) {
  const [asking, setAsking] = useState<'codes' | 'removal' | null>(null);
  const close = () => setAsking(null);
  return (
    <Panel
      title="Two-factor"
      lead={
        isOn
          ? 'On. After your password you enter a code of your authenticator app.'
          : 'Off. Your password alone lets you in.'
      }
    >
      <div className="flex flex-wrap gap-3 px-5 pb-5">
        {isOn ? (
          <>
            <Button variant="secondary" onPress={() => setAsking('codes')}>
              New recovery codes
            </Button>
            <Button variant="danger-soft" onPress={() => setAsking('removal')}>
              Turn off
            </Button>
          </>
        ) : (
          <Link href="/account/two-factor" className="button button--primary">
            Set up
          </Link>
        )}
      </div>
      {asking === 'codes' ? <NewCodes email={email} onClose={close} /> : null}
      {asking === 'removal' ? <Removal email={email} onClose={close} /> : null}
    </Panel>
  );
}

interface AskingProps {
  readonly email: string;
  readonly onClose: () => void;
}

function NewCodes({ email, onClose }: AskingProps) {
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  if (codes !== null)
    return (
      <Dialog isOpen onClose={onClose} title="Your new recovery codes" mustAnswer>
        <Modal.Body className="space-y-4">
          <p className="text-sm leading-6 text-muted">
            Each signs you in once without the app. They are shown this once, and the old ones are void.
          </p>
          <RecoveryCodes codes={codes} />
        </Modal.Body>
        <Modal.Footer>
          <Button onPress={onClose}>I have kept them</Button>
        </Modal.Footer>
      </Dialog>
    );
  return (
    <AskPassword
      email={email}
      title="New recovery codes"
      confirm="Make new codes"
      action={renewRecoveryCodes}
      onDone={setCodes}
      onClose={onClose}
    >
      The codes that you have become void.
    </AskPassword>
  );
}

function Removal({ email, onClose }: AskingProps) {
  const done = () => {
    onClose();
    toast.success('Two-factor is off.');
  };
  return (
    <AskPassword
      email={email}
      title="Turn two-factor off?"
      confirm="Turn off"
      action={removeTwoFactor}
      onDone={done}
      onClose={onClose}
    >
      Your password alone lets you in then. Organizations that require two-factor stay closed to you until you
      set it up again.
    </AskPassword>
  );
}

interface AskPasswordProps<T> extends AskingProps {
  readonly title: string;
  readonly confirm: string;
  readonly children: ReactNode;
  readonly action: (password: string) => Promise<Result<T>>;
  readonly onDone: (value: T) => void;
}

function AskPassword<T>({ email, title, confirm, children, action, onDone, onClose }: AskPasswordProps<T>) {
  const { act, pending, refusal } = useAct();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get('password') ?? '');
    const value = await act(() => action(password));
    if (value !== undefined) onDone(value);
  };
  return (
    <Dialog isOpen onClose={onClose} title={title} mustAnswer={pending}>
      <Form onSubmit={submit} className="contents" refusal={refusal} fields={['password']}>
        <Modal.Body className="space-y-4">
          <p className="text-sm leading-6 text-muted">{children}</p>
          <input type="hidden" name="username" autoComplete="username" value={email} />
          <Field
            label="Your password"
            name="password"
            type="password"
            autoComplete="current-password"
            autoFocus
          />
        </Modal.Body>
        <Modal.Footer>
          <Button variant="tertiary" onPress={onClose} isDisabled={pending}>
            Cancel
          </Button>
          <Button type="submit" isPending={pending}>
            {confirm}
          </Button>
        </Modal.Footer>
      </Form>
    </Dialog>
  );
}
