'use client';

import { Button } from '@heroui/react';
import { useActionState } from 'react';
import { signOut } from '../session/actions.ts';
import { PASSWORD_HINT } from '../session/words.ts';
import { Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Link } from '../ui/link.tsx';
import { accept } from './accept-actions.ts';

interface AcceptFormProps {
  readonly token: string;
  readonly email: string;
  readonly hasAccount: boolean;
  readonly signedInAs: string | null;
  /** Name of the identity provider, if it is the only way to sign in. */
  readonly onlyProvider: string | null;
}

const FIELDS = ['name', 'password'];

/**
 * The token is a field, not an argument bound to the action. With a bound one, React renders the
 * answer to a form that was sent without scripts in an endless loop.
 */
export function AcceptForm({ token, email, hasAccount, signedInAs, onlyProvider }: AcceptFormProps) {
  const [{ name, refusal }, action, pending] = useActionState(accept, { name: '', refusal: null });
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
  return (
    <Form action={action} className="space-y-4" refusal={refusal} fields={FIELDS}>
      <input type="hidden" name="token" value={token} />
      {signedInAs === null ? (
        <>
          <Field label="Your name" name="name" autoComplete="name" defaultValue={name} autoFocus />
          {onlyProvider === null ? (
            <>
              <input type="hidden" name="username" autoComplete="username" value={email} />
              <Field
                label="Password"
                name="password"
                type="password"
                autoComplete="new-password"
                hint={PASSWORD_HINT}
              />
            </>
          ) : null}
        </>
      ) : null}
      <Button type="submit" fullWidth isPending={pending}>
        {onlyProvider !== null && signedInAs === null ? `Join with ${onlyProvider}` : 'Join'}
      </Button>
    </Form>
  );
}
