'use client';

import { Button, Modal, toast } from '@heroui/react';
import { useState } from 'react';
import { OnceDialog } from '../ui/dialogs.tsx';
import { Link } from '../ui/link.tsx';
import { Panel } from '../ui/page.tsx';
import { AskPassword } from './ask-password.tsx';
import { createPasskey } from './create-passkey.ts';
import { PasskeyList, type PasskeyRow } from './passkey-list.tsx';
import { RecoveryCodes } from './recovery-codes.tsx';
import { removeTwoFactor, renewRecoveryCodes } from './two-factor-actions.ts';

interface TwoFactorPanelProps {
  readonly email: string;
  readonly isOn: boolean;
  /** Whether an authenticator app is in use. */
  readonly hasApp: boolean;
  /** Null: passkeys are not in use here. */
  readonly passkeys: readonly PasskeyRow[] | null;
}

export function TwoFactorPanel({ email, isOn, hasApp, passkeys }: TwoFactorPanelProps) {
  const [asking, setAsking] = useState<'passkey' | 'codes' | 'removal' | null>(null);
  const close = () => setAsking(null);
  return (
    <Panel
      title="Two-factor"
      lead={isOn ? 'On. Your password alone does not let you in.' : 'Off. Your password alone lets you in.'}
    >
      {isOn && passkeys?.length ? <PasskeyList email={email} passkeys={passkeys} /> : null}
      <div className="flex flex-wrap gap-3 px-5 pb-5">
        {isOn ? (
          <>
            {passkeys ? (
              <Button variant="secondary" onPress={() => setAsking('passkey')}>
                Add a passkey
              </Button>
            ) : null}
            {hasApp ? null : (
              <Link href="/account/two-factor?app" className="button button--secondary">
                Add an authenticator app
              </Link>
            )}
            <Button variant="secondary" onPress={() => setAsking('codes')}>
              New recovery codes
            </Button>
            <Button variant="danger-soft" onPress={() => setAsking('removal')}>
              Turn off
            </Button>
          </>
        ) : (
          <Link href="/account/two-factor" className="button button--primary">
            Set up
          </Link>
        )}
      </div>
      {asking === 'passkey' ? <NewPasskey email={email} onClose={close} /> : null}
      {asking === 'codes' ? <NewCodes email={email} onClose={close} /> : null}
      {asking === 'removal' ? <Removal email={email} onClose={close} /> : null}
    </Panel>
  );
}

interface AskingProps {
  readonly email: string;
  readonly onClose: () => void;
}

function NewPasskey({ email, onClose }: AskingProps) {
  const done = () => {
    onClose();
    toast.success('Passkey added.');
  };
  return (
    <AskPassword
      email={email}
      title="Add a passkey"
      confirm="Create a passkey"
      action={createPasskey}
      onDone={done}
      onClose={onClose}
    >
      Your browser then asks for your fingerprint, face, PIN or security key. It signs you in from then on.
    </AskPassword>
  );
}

function NewCodes({ email, onClose }: AskingProps) {
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  if (codes !== null)
    return (
      <OnceDialog onClose={onClose} title="Your new recovery codes" close="I have saved them">
        <Modal.Body className="space-y-4">
          <p className="text-sm leading-6 text-muted">
            Each signs you in once without your app or passkey. They are shown only once, and the old ones no
            longer work.
          </p>
          <RecoveryCodes codes={codes} />
        </Modal.Body>
      </OnceDialog>
    );
  return (
    <AskPassword
      email={email}
      title="New recovery codes"
      confirm="Create new codes"
      action={renewRecoveryCodes}
      onDone={setCodes}
      onClose={onClose}
    >
      Your current codes stop working.
    </AskPassword>
  );
}

function Removal({ email, onClose }: AskingProps) {
  const done = () => {
    onClose();
    toast.success('Two-factor is off.');
  };
  return (
    <AskPassword
      email={email}
      title="Turn two-factor off?"
      confirm="Turn off"
      action={removeTwoFactor}
      onDone={done}
      onClose={onClose}
    >
      Your passkeys are removed, and your password alone is then enough to sign in. Organizations that require
      two-factor stay closed to you until you set it up again.
    </AskPassword>
  );
}
