'use client';

import { Button } from '@heroui/react';
import { type FormEvent, useState } from 'react';
import { useAct } from '../ui/act.ts';
import { CopyButton } from '../ui/code.tsx';
import { Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Note, PageHeader, Panel } from '../ui/page.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';
import { beginTwoFactor, confirmTwoFactor, type NewApp } from './two-factor-actions.ts';

interface SetUpProps {
  readonly email: string;
  /** The organization that requires it. Null: the user wishes it. */
  readonly requiredBy: string | null;
}

export function SetUpTwoFactor({ email, requiredBy }: SetUpProps) {
  const [app, setApp] = useState<NewApp | null>(null);
  return (
    <>
      <PageHeader
        title="Set up two-factor"
        lead="After your password, the console then asks for a code that an authenticator app on your phone shows."
      />
      <div className="max-w-xl space-y-6">
        {requiredBy === null ? null : (
          <Note kind="warning">
            {requiredBy} requires two-factor of its members. Its screens open once you have set it up.
          </Note>
        )}
        {app === null ? <PasswordStep email={email} onDone={setApp} /> : <AppSteps app={app} />}
      </div>
    </>
  );
}

function PasswordStep({ email, onDone }: { email: string; onDone: (app: NewApp) => void }) {
  const { act, pending, refusal } = useAct();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get('password') ?? '');
    const begun = await act(() => beginTwoFactor(password));
    if (begun) onDone(begun);
  };
  return (
    <Panel title="Confirm your password">
      <Form onSubmit={submit} className="space-y-4 px-5 pb-5" refusal={refusal} fields={['password']}>
        <input type="hidden" name="username" autoComplete="username" value={email} />
        <Field label="Password" name="password" type="password" autoComplete="current-password" />
        <Button type="submit" isPending={pending}>
          Continue
        </Button>
      </Form>
    </Panel>
  );
}

function AppSteps({ app: { secret, qr, recoveryCodes } }: { app: NewApp }) {
  const { act, pending, refusal } = useAct();
  // The page leads on by itself once two-factor is on.
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code') ?? '');
    await act(() => confirmTwoFactor(code));
  };
  return (
    <>
      <Panel title="1. Scan this with your authenticator app">
        <div className="flex flex-wrap items-center gap-5 px-5 pb-5">
          <svg
            role="img"
            aria-label="QR code"
            viewBox={`0 0 ${qr.size} ${qr.size}`}
            shapeRendering="crispEdges"
            className="size-48 shrink-0 rounded-xl bg-white text-black"
          >
            <path d={qr.path} fill="currentColor" />
          </svg>
          <div className="min-w-0 flex-1 basis-56 text-sm leading-6">
            <p className="text-muted">Or type this key into it:</p>
            <p className="mt-1 font-mono text-[0.8125rem] wrap-anywhere" data-testid="secret">
              {secret.replace(/.{4}(?=.)/g, '$& ')}
            </p>
            <CopyButton text={secret} label="Copy the key" className="mt-2" />
          </div>
        </div>
      </Panel>
      <Panel
        title="2. Keep your recovery codes"
        lead="Each signs you in once without the app. They are shown this once."
      >
        <div className="px-5 pb-5">
          <RecoveryCodes codes={recoveryCodes} />
        </div>
      </Panel>
      <Panel title="3. Enter the code that the app shows" lead="Your other sessions end then.">
        <Form onSubmit={submit} className="space-y-4 px-5 pb-5" refusal={refusal} fields={['code']}>
          <Field
            label="Code"
            name="code"
            autoComplete="one-time-code"
            hint="6 digits."
            input={{ inputMode: 'numeric' }}
          />
          <Button type="submit" isPending={pending}>
            Turn on
          </Button>
        </Form>
      </Panel>
    </>
  );
}
