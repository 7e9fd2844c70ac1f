'use client';

import { Button } from '@heroui/react';
import { useActionState } from 'react';
import { Field } from '../ui/field.tsx';
import { Note } from '../ui/page.tsx';
import { signIn, signInWithProvider } from './actions.ts';
import { Entrance } from './entrance.tsx';

interface SignInFormProps {
  readonly next: string;
  /** Name of the identity provider; null: none. */
  readonly provider: string | null;
  /** Why it signed nobody in; null: nothing went wrong. */
  readonly trouble: string | null;
}

export function SignInForm({ next, provider, trouble }: SignInFormProps) {
  const [state, action, pending] = useActionState(signIn, { email: '', error: null });
  const problem = state.error ?? trouble;
  return (
    <Entrance title="Sign in to Tidegate" lead="Keys, models and usage of your organization.">
      <form action={action} className="space-y-4">
        {problem ? <Note kind="danger">{problem}</Note> : null}
        <input type="hidden" name="next" value={next} />
        <Field
          label="E-mail"
          name="email"
          type="email"
          autoComplete="username"
          input={{ required: true }}
          defaultValue={state.email}
          key={`email-${state.email}`}
        />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          input={{ required: true }}
        />
        <Button type="submit" fullWidth isPending={pending}>
          Sign in
        </Button>
      </form>
      {provider ? (
        <form action={signInWithProvider} className="mt-3">
          <input type="hidden" name="next" value={next} />
          <Button type="submit" variant="secondary" fullWidth>
            Sign in with {provider}
          </Button>
        </form>
      ) : null}
    </Entrance>
  );
}
