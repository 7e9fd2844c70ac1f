'use client';

import { Chip, toast } from '@heroui/react';
import type { KeyState, KeyView } from '@tidegate/control';
import { Confirm } from '../ui/dialogs.tsx';
import { deleteKey, revokeKey } from './actions.ts';

const STATE_COLORS: Record<KeyState, 'success' | 'warning' | 'default'> = {
  Active: 'success',
  Expired: 'warning',
  Revoked: 'default',
};

export const StateChip = ({ state }: { state: KeyState }) => (
  <Chip size="sm" variant="soft" color={STATE_COLORS[state]}>
    {state}
  </Chip>
);

/** What an owner wants to do with a key, and has not confirmed yet. */
export interface AskedOfKey {
  readonly what: 'revoke' | 'delete';
  readonly key: Pick<KeyView, 'id' | 'name'>;
}

interface KeyConfirmsProps {
  readonly org: string;
  readonly asked: AskedOfKey | null;
  readonly onClose: () => void;
  readonly onDeleted?: () => void;
}

/** Asks before a key is revoked or deleted. */
export function KeyConfirms({ org, asked, onClose, onDeleted }: KeyConfirmsProps) {
  const { id = '', name = '' } = asked?.key ?? {};
  const deleted = () => {
    toast.success('Key deleted.');
    onDeleted?.();
  };
  return (
    <>
      <Confirm
        isOpen={asked?.what === 'revoke'}
        onClose={onClose}
        title={`Revoke “${name}”?`}
        confirm="Revoke key"
        action={() => revokeKey(org, id)}
        onDone={() => toast.success('Key revoked.')}
      >
        <p>
          From the next request on, every gateway refuses this key. This cannot be undone; the key stays in
          the list as Revoked.
        </p>
      </Confirm>
      <Confirm
        isOpen={asked?.what === 'delete'}
        onClose={onClose}
        title={`Delete “${name}”?`}
        confirm="Delete key"
        action={() => deleteKey(org, id)}
        onDone={deleted}
      >
        <p>The key leaves the list for good. Its usage stays, shown as “A deleted key”.</p>
      </Confirm>
    </>
  );
}
