'use client';

import { Input, Label, Modal } from '@heroui/react';
import type { Role } from '@tidegate/control';
import { type FormEvent, useState } from 'react';
import { useAct } from '../ui/act.ts';
import { CopyButton } from '../ui/code.tsx';
import { FormDialog, OnceDialog } from '../ui/dialogs.tsx';
import { Choice, Field } from '../ui/field.tsx';
import { Note } from '../ui/page.tsx';
import { invite } from './actions.ts';
import { ROLE_OPTIONS } from './roles.ts';

const FIELDS = ['email', 'role'];

export function InviteMember({ org, onClose }: { org: string; onClose: () => void }) {
  const { act, pending, refusal } = useAct();
  const [role, setRole] = useState<Role>('member');
  const [made, setMade] = useState<{ readonly email: string; readonly link: string } | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const email = String(new FormData(event.currentTarget).get('email') ?? '');
    const invitation = await act(() => invite(org, email, role));
    if (invitation) setMade(invitation);
  };
  if (made)
    return (
      <OnceDialog onClose={onClose} title={`Send this link to ${made.email}`} close="Done">
        <Modal.Body className="space-y-4">
          <Note kind="warning">
            It is shown only once. Whoever opens it within 7 days can join as {made.email}. It works once.
          </Note>
          <div>
            <Label htmlFor="invitation-link">Invitation link</Label>
            <div className="mt-1.5 flex items-center gap-2">
              <Input
                id="invitation-link"
                readOnly
                fullWidth
                value={made.link}
                className="font-mono text-xs"
              />
              <CopyButton text={made.link} label="Copy the link" />
            </div>
          </div>
        </Modal.Body>
      </OnceDialog>
    );
  return (
    <FormDialog
      title="Invite someone"
      submit="Create link"
      fields={FIELDS}
      refusal={refusal}
      pending={pending}
      onSubmit={submit}
      onClose={onClose}
    >
      <Modal.Body className="space-y-5">
        <Field
          label="E-mail"
          name="email"
          type="email"
          autoFocus
          hint="You get a link to send. Inviting someone again replaces the earlier link."
        />
        <Choice<Role> label="Role" name="role" options={ROLE_OPTIONS} value={role} onChange={setRole} />
      </Modal.Body>
    </FormDialog>
  );
}
