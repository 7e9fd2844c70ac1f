'use client';

import { Button } from '@heroui/react';
import { type FormEvent, useState } from 'react';
import { LeaveOrg } from '../members/leave-org.tsx';
import { useAct } from '../ui/act.ts';
import { CopyButton } from '../ui/code.tsx';
import { Field } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Note, PageHeader, Panel } from '../ui/page.tsx';
import { createPasskey } from './create-passkey.ts';
import { RecoveryCodes } from './recovery-codes.tsx';
import { beginTwoFactor, confirmTwoFactor, type NewApp } from './two-factor-actions.ts';

interface SetUpProps {
  readonly email: string;
  /**
   * The organization that is closed to the user without a second factor. Null: it is the user's own
   * choice.
   */
  readonly requiredBy: { readonly slug: string; readonly name: string } | null;
  /** Whether passkeys are in use here. */
  readonly passkeys: boolean;
  /** Whether the account has passkeys and is getting an app as well. */
  readonly adding: boolean;
}

/** What the steps after the password need. Creating a passkey needs the password again. */
interface Begun {
  readonly app: NewApp;
  readonly password: string;
}

export function SetUpTwoFactor({ email, requiredBy, passkeys: canHavePasskeys, adding }: SetUpProps) {
  const [begun, setBegun] = useState<Begun | null>(null);
  const passkeys = canHavePasskeys && !adding;
  return (
    <>
      <PageHeader
        title={adding ? 'Add an authenticator app' : 'Set up two-factor'}
        lead={
          adding
            ? 'Where you cannot use your passkey, you can then sign in with your password and a code from the app.'
            : passkeys
              ? 'Your password alone will no longer let you in: the console will also ask for a code from an authenticator app, or you sign in with a passkey.'
              : 'After your password, the console will then ask for a code from an authenticator app on your phone.'
        }
      />
      <div className="max-w-xl space-y-6">
        {requiredBy === null ? null : (
          <Note kind="warning">
            {requiredBy.name} requires its members to use two-factor. Its screens open once you have set it
            up.
          </Note>
        )}
        {begun === null ? (
          <PasswordStep email={email} onDone={setBegun} />
        ) : (
          <>
            <RecoveryStep codes={begun.app.recoveryCodes} adding={adding} />
            {passkeys ? <PasskeyStep password={begun.password} /> : null}
            <AppStep
              app={begun.app}
              adding={adding}
              title={passkeys ? 'Or use an authenticator app' : '2. Use an authenticator app'}
            />
          </>
        )}
        {requiredBy === null ? null : <LeaveOrg org={requiredBy.slug} name={requiredBy.name} />}
      </div>
    </>
  );
}

function PasswordStep({ email, onDone }: { email: string; onDone: (begun: Begun) => void }) {
  const { act, pending, refusal } = useAct();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget).get('password') ?? '');
    const app = await act(() => beginTwoFactor(password));
    if (app) onDone({ app, password });
  };
  return (
    <Panel title="Confirm your password">
      <Form onSubmit={submit} className="space-y-4 px-5 pb-5" refusal={refusal} fields={['password']}>
        <input type="hidden" name="username" autoComplete="username" value={email} />
        <Field label="Password" name="password" type="password" autoComplete="current-password" autoFocus />
        <Button type="submit" isPending={pending}>
          Continue
        </Button>
      </Form>
    </Panel>
  );
}

function RecoveryStep({ codes, adding }: { codes: readonly string[]; adding: boolean }) {
  return (
    <Panel
      title="1. Save your recovery codes"
      lead={`Each signs you in once if you lose your phone or your passkey. They are shown only once${adding ? ', and the old ones no longer work' : ''}.`}
    >
      <div className="px-5 pb-5">
        <RecoveryCodes codes={codes} />
      </div>
    </Panel>
  );
}

function PasskeyStep({ password }: { password: string }) {
  const { act, pending, refusal } = useAct();
  return (
    <Panel
      title="2. Create a passkey"
      lead="You then sign in with your fingerprint, face, PIN or security key, without a password. Your other sessions end."
    >
      <div className="px-5 pb-5">
        {refusal ? (
          <Note kind="danger" className="mb-4">
            {refusal.message}
          </Note>
        ) : null}
        <Button isPending={pending} onPress={() => act(() => createPasskey(password))}>
          Create a passkey
        </Button>
      </div>
    </Panel>
  );
}

interface AppStepProps {
  readonly app: NewApp;
  readonly title: string;
  readonly adding: boolean;
}

function AppStep({ app: { secret, qr }, title, adding }: AppStepProps) {
  const { act, pending, refusal } = useAct();
  // The page moves on by itself once two-factor is on.
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const code = String(new FormData(event.currentTarget).get('code') ?? '');
    await act(() => confirmTwoFactor(code));
  };
  return (
    <Panel
      title={title}
      lead={`Scan this with the app, then enter the code that it shows.${adding ? '' : ' Your other sessions end.'}`}
    >
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
      <Form onSubmit={submit} className="space-y-4 px-5 pb-5" refusal={refusal} fields={['code']}>
        <Field
          label="Code"
          name="code"
          autoComplete="one-time-code"
          hint="6 digits."
          input={{ inputMode: 'numeric' }}
        />
        <Button type="submit" isPending={pending}>
          {adding ? 'Add the app' : 'Turn on'}
        </Button>
      </Form>
    </Panel>
  );
}
