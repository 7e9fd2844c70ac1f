'use client';

import { Modal } from '@heroui/react';
import type { Result } from '@tidegate/control';
import type { FormEvent, ReactNode } from 'react';
import { useAct } from '../ui/act.ts';
import { FormDialog } from '../ui/dialogs.tsx';
import { Field } from '../ui/field.tsx';

interface AskPasswordProps<T> {
  readonly email: string;
  readonly onClose: () => void;
  readonly title: string;
  readonly confirm: string;
  readonly children: ReactNode;
  readonly action: (password: string) => Promise<Result<T>>;
  readonly onDone: (value: T) => void;
}

/** Asks for the password before an action that needs it. */
export function AskPassword<T>({
  email,
  title,
  confirm,
  children,
  action,
  onDone,
  onClose,
}: AskPasswordProps<T>) {
  const { act, pending, refusal } = useAct();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get('password') ?? '');
    const value = await act(() => action(password));
    if (value !== undefined) onDone(value);
  };
  return (
    <FormDialog
      title={title}
      submit={confirm}
      fields={['password']}
      refusal={refusal}
      pending={pending}
      onSubmit={submit}
      onClose={onClose}
    >
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
    </FormDialog>
  );
}
