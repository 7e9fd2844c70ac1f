'use client';

import { Button } from '@heroui/react';
import { useActionState } from 'react';
import { Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Link } from '../ui/link.tsx';
import { completeSignIn } from './actions.ts';
import { Entrance } from './entrance.tsx';
import { signInPath } from './next-path.ts';
import { PasskeyButton } from './passkey-button.tsx';

const FIELDS = ['code'];

/** The step of a sign-in after the password. */
export function SecondStepForm({ next, passkeys }: { next: string; passkeys: boolean }) {
  const [refusal, action, pending] = useActionState(completeSignIn, null);
  return (
    <Entrance title="One more step" lead="Your password is right. Now prove that it is you.">
      <Form action={action} className="space-y-4" refusal={refusal} fields={FIELDS}>
        <input type="hidden" name="next" value={next} />
        <Field
          label="Code"
          name="code"
          autoComplete="one-time-code"
          autoFocus
          hint="From your authenticator app, or one of your recovery codes."
          input={{ autoCapitalize: 'none', spellCheck: false }}
        />
        <Button type="submit" fullWidth isPending={pending}>
          Sign in
        </Button>
      </Form>
      {passkeys ? <PasskeyButton next={next} /> : null}
      <p className="mt-4 text-center text-sm">
        <Link href={signInPath(next)} className="inline-link">
          Start again
        </Link>
      </p>
    </Entrance>
  );
}
