'use client';

import { Button } from '@heroui/react';
import { useActionState, useEffect, useState } from 'react';
import { Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Note } from '../ui/page.tsx';
import { signIn, signInWithProvider } from './actions.ts';
import { Entrance } from './entrance.tsx';
import { PasskeyButton } from './passkey-button.tsx';

interface SignInFormProps {
  readonly next: string;
  /** Where browsers should find the console. */
  readonly consoleUrl: string;
  /** Name of the identity provider. Null: there is none. */
  readonly provider: string | null;
  /** False: the provider is the only way to sign in. */
  readonly passwords: boolean;
  /** Whether passkeys are in use here. */
  readonly passkeys: boolean;
  /** Why an earlier sign-in failed. Null: none did. */
  readonly trouble: string | null;
}

const FIELDS = ['email', 'password'];

export function SignInForm({ next, consoleUrl, provider, passwords, passkeys, trouble }: SignInFormProps) {
  const [{ email, refusal }, action, pending] = useActionState(signIn, { email: '', refusal: null });
  return (
    <Entrance title="Sign in to Tidegate" lead="Your organization's keys, models and usage.">
      <WrongAddress consoleUrl={consoleUrl} />
      {trouble && !refusal ? (
        <Note kind="danger" className="mb-4">
          {trouble}
        </Note>
      ) : null}
      {passwords ? (
        <Form action={action} className="space-y-4" refusal={refusal} fields={FIELDS}>
          <input type="hidden" name="next" value={next} />
          <Field
            label="E-mail"
            name="email"
            type="email"
            autoComplete="username"
            defaultValue={email}
            autoFocus
          />
          <Field label="Password" name="password" type="password" autoComplete="current-password" />
          <Button type="submit" fullWidth isPending={pending}>
            Sign in
          </Button>
        </Form>
      ) : null}
      {passkeys ? <PasskeyButton next={next} /> : null}
      {provider ? (
        <form action={signInWithProvider} className={passwords ? 'mt-3' : ''}>
          <input type="hidden" name="next" value={next} />
          <Button type="submit" variant={passwords ? 'secondary' : 'primary'} fullWidth>
            Sign in with {provider}
          </Button>
        </form>
      ) : null}
    </Entrance>
  );
}

/**
 * Says where to go if signing in cannot work here. The server refuses forms from origins other than
 * CONSOLE_URL, unless the browser itself says that the form is from the same origin. Browsers say
 * so only over https and on this machine.
 */
function WrongAddress({ consoleUrl }: { consoleUrl: string }) {
  const [isWrong, setWrong] = useState(false);
  useEffect(() => setWrong(!isSecureContext && location.origin !== consoleUrl), [consoleUrl]);
  return isWrong ? (
    <Note kind="warning" className="mb-4">
      Signing in works only at{' '}
      <a href={consoleUrl} className="inline-link">
        {consoleUrl}
      </a>
      . An operator can set another address with CONSOLE_URL.
    </Note>
  ) : null;
}
