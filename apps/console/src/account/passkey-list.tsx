'use client';

import { Button, toast } from '@heroui/react';
import { useState } from 'react';
import { Time } from '../ui/time.tsx';
import { AskPassword } from './ask-password.tsx';
import { removePasskey } from './passkey-actions.ts';

export interface PasskeyRow {
  readonly id: string;
  readonly name: string;
  /** ISO 8601. */
  readonly createdAt: string | null;
}

interface PasskeyListProps {
  readonly email: string;
  readonly passkeys: readonly PasskeyRow[];
}

/**
 * Only accounts with a password have passkeys. So the password is asked for before one is removed.
 */
export function PasskeyList({ email, passkeys }: PasskeyListProps) {
  const [removed, setRemoved] = useState<PasskeyRow | null>(null);
  const close = () => setRemoved(null);
  return (
    <>
      <ul aria-label="Passkeys" className="mb-4 divide-y divide-separator border-y border-border">
        {passkeys.map((passkey) => (
          <Row key={passkey.id} passkey={passkey} onRemove={() => setRemoved(passkey)} />
        ))}
      </ul>
      {removed ? (
        <AskPassword
          email={email}
          title={`Remove the passkey of ${removed.name}?`}
          confirm="Remove"
          action={(password) => removePasskey(removed.id, password)}
          onDone={() => {
            close();
            toast.success('Passkey removed.');
          }}
          onClose={close}
        >
          It will no longer sign you in. To use this device again, add a new passkey.
        </AskPassword>
      ) : null}
    </>
  );
}

interface RowProps {
  readonly passkey: PasskeyRow;
  readonly onRemove: () => void;
}

function Row({ passkey: { name, createdAt }, onRemove }: RowProps) {
  return (
    <li className="flex items-center justify-between gap-4 px-5 py-3 text-sm">
      <div className="min-w-0">
        <p className="font-medium">{name}</p>
        {createdAt ? (
          <p className="mt-0.5 text-xs text-muted">
            Passkey, added <Time iso={createdAt} />
          </p>
        ) : null}
      </div>
      <Button
        size="sm"
        variant="ghost"
        className="shrink-0"
        onPress={onRemove}
        aria-label={`Remove the passkey of ${name}`}
      >
        Remove
      </Button>
    </li>
  );
}
