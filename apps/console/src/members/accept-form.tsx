'use client';

import { Button } from '@heroui/react';
import Link from 'next/link';
import { useActionState } from 'react';
import { signOut } from '../session/actions.ts';
import { Field } from '../ui/field.tsx';
import { Note } from '../ui/page.tsx';
import { accept } from './accept-actions.ts';

interface AcceptFormProps {
  readonly token: string;
  readonly email: string;
  readonly hasAccount: boolean;
  readonly signedInAs: string | null;
}

export function AcceptForm({ token, email, hasAccount, signedInAs }: AcceptFormProps) {
  const [state, action, pending] = useActionState(accept.bind(null, token), {
    name: '',
    error: null,
    field: null,
  });
  if (signedInAs !== null && signedInAs !== email)
    return (
      <form action={signOut} className="space-y-4">
        <p className="text-sm leading-6">
          You are signed in as {signedInAs}. Sign out, then open the link again to join as {email}.
        </p>
        <Button type="submit" variant="secondary" fullWidth>
          Sign out
        </Button>
      </form>
    );
  if (hasAccount && signedInAs === null)
    return (
      <div className="space-y-4">
        <p className="text-sm leading-6">There is an account for {email}: sign in to join.</p>
        <Link href={`/sign-in?next=/invite/${token}`} className="button button--primary button--full-width">
          Sign in
        </Link>
      </div>
    );
  const errorOf = (field: string) => (state.field === field ? (state.error ?? undefined) : undefined);
  return (
    <form action={action} className="space-y-4">
      {state.error && state.field !== 'name' && state.field !== 'password' ? (
        <Note kind="danger">{state.error}</Note>
      ) : null}
      {signedInAs === null ? (
        <>
          <Field
            key={state.name}
            label="Your name"
            name="name"
            autoComplete="name"
            defaultValue={state.name}
            error={errorOf('name')}
          />
          <input type="hidden" name="username" autoComplete="username" value={email} />
          <Field
            label="Password"
            name="password"
            type="password"
            autoComplete="new-password"
            error={errorOf('password')}
            hint="8 to 128 characters."
          />
        </>
      ) : null}
      <Button type="submit" fullWidth isPending={pending}>
        Join
      </Button>
    </form>
  );
}
