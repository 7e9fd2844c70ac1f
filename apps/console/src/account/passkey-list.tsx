'use client';

import { Button, toast } from '@heroui/react';
import { useAct } from '../ui/act.ts';
import { Time } from '../ui/time.tsx';
import { removePasskey } from './passkey-actions.ts';

export interface PasskeyRow {
  readonly id: string;
  readonly name: string;
  /** ISO 8601. */
  readonly madeAt: string | null;
}

export function PasskeyList({ passkeys }: { passkeys: readonly PasskeyRow[] }) {
  return (
    <ul aria-label="Passkeys" className="mb-4 divide-y divide-separator border-y border-border">
      {passkeys.map((passkey) => (
        <Row key={passkey.id} passkey={passkey} />
      ))}
    </ul>
  );
}

function Row({ passkey: { id, name, madeAt } }: { passkey: PasskeyRow }) {
  const { act, pending } = useAct();
  const remove = async () => {
    const removed = await act(async () => {
      const result = await removePasskey(id);
      if (!result.ok) toast.danger(result.refusal.message);
      return result;
    });
    if (removed !== undefined) toast.success('The passkey is removed.');
  };
  return (
    <li className="flex items-center justify-between gap-4 px-5 py-3 text-sm">
      <div className="min-w-0">
        <p className="font-medium">{name}</p>
        {madeAt ? (
          <p className="mt-0.5 text-xs text-muted">
            Passkey, made <Time iso={madeAt} />
          </p>
        ) : null}
      </div>
      <Button
        size="sm"
        variant="ghost"
        className="shrink-0"
        isPending={pending}
        onPress={remove}
        aria-label={`Remove the passkey of ${name}`}
      >
        Remove
      </Button>
    </li>
  );
}
