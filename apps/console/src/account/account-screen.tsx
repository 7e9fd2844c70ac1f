'use client';

import { Button, toast } from '@heroui/react';
import { type FormEvent, useState } from 'react';
import { changePassword } from '../session/actions.ts';
import { PASSWORD_HINT } from '../session/words.ts';
import { useAct } from '../ui/act.ts';
import { Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Link } from '../ui/link.tsx';
import { PageHeader, Panel } from '../ui/page.tsx';
import { TypedConfirm } from '../ui/typed-confirm.tsx';
import { deleteAccount } from './actions.ts';
import type { PasskeyRow } from './passkey-list.tsx';
import { SessionsPanel, type SessionView } from './sessions-panel.tsx';
import { TwoFactorPanel } from './two-factor-panel.tsx';

interface AccountScreenProps {
  readonly email: string;
  /** False: the user can sign in only with the identity provider. */
  readonly hasPassword: boolean;
  /** Whether a second factor is asked for after the password. */
  readonly twoFactor: boolean;
  /** Whether an authenticator app is in use. */
  readonly hasApp: boolean;
  /** Null: passkeys are not in use here. */
  readonly passkeys: readonly PasskeyRow[] | null;
  readonly sessions: readonly SessionView[];
  /** How long a session lasts without use, in words. */
  readonly idle: string;
  readonly memberships: readonly {
    readonly slug: string;
    readonly name: string;
    readonly role: string;
    readonly plan: string;
  }[];
}

export function AccountScreen({
  email,
  hasPassword,
  twoFactor,
  hasApp,
  passkeys,
  sessions,
  idle,
  memberships,
}: AccountScreenProps) {
  return (
    <>
      <PageHeader title="Account" lead={`You are signed in as ${email}.`} />
      <div className="items-start gap-6 space-y-6 lg:grid lg:grid-cols-2 lg:space-y-0">
        <div className="space-y-6">
          <Panel title="Organizations">
            {memberships.length === 0 ? (
              <p className="px-5 pb-5 text-sm leading-6 text-muted">
                You belong to no organization. Ask an owner for an invitation.
              </p>
            ) : (
              <ul className="divide-y divide-separator border-t border-border">
                {memberships.map(({ slug, name, role, plan }) => (
                  <li key={slug} className="flex items-center justify-between gap-4 px-5 py-3 text-sm">
                    <Link href={`/o/${slug}/keys`} className="min-w-0 truncate font-medium hover:underline">
                      {name}
                    </Link>
                    <span className="shrink-0 text-muted">
                      <span className="capitalize">{role}</span> · {plan}
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </Panel>
          <SessionsPanel sessions={sessions} idle={idle} />
        </div>
        {hasPassword ? (
          <div className="space-y-6">
            <Panel title="Change password" lead="Ends all your other sessions.">
              <PasswordForm email={email} />
            </Panel>
            <TwoFactorPanel email={email} isOn={twoFactor} hasApp={hasApp} passkeys={passkeys} />
          </div>
        ) : null}
      </div>
      <div className="mt-6">
        <TypedConfirm
          title="Delete account"
          lead="Ends your memberships and sessions. Keys stay: they belong to organizations."
          what="your e-mail"
          name="email"
          action={deleteAccount}
          leadsTo="/sign-in"
        >
          <p>
            This deletes the account of {email} for good. The audit trails of its organizations still name it
            until those events are old enough to be deleted.
          </p>
        </TypedConfirm>
      </div>
    </>
  );
}

const PASSWORD_FIELDS = ['current', 'next'];

function PasswordForm({ email }: { email: string }) {
  const { act, pending, refusal } = useAct();
  const [round, setRound] = useState(0);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const changed = await act(() =>
      changePassword(String(form.get('current') ?? ''), String(form.get('next') ?? '')),
    );
    if (changed === undefined) return;
    setRound(round + 1);
    toast.success('Password changed.');
  };
  return (
    <Form
      key={round}
      onSubmit={submit}
      className="space-y-4 px-5 pb-5"
      refusal={refusal}
      fields={PASSWORD_FIELDS}
    >
      <input type="hidden" name="username" autoComplete="username" value={email} />
      <Field label="Current password" name="current" type="password" autoComplete="current-password" />
      <Field
        label="New password"
        name="next"
        type="password"
        autoComplete="new-password"
        hint={PASSWORD_HINT}
      />
      <Button type="submit" isPending={pending}>
        Change password
      </Button>
    </Form>
  );
}
