'use client';

import { toast } from '@heroui/react';
import type { Role } from '@tidegate/control';
import { Confirm } from '../ui/dialogs.tsx';
import { setRole } from './actions.ts';

export interface RoleChange {
  readonly email: string;
  readonly from: Role;
  readonly to: Role;
}

interface ChangeRoleProps {
  readonly org: string;
  /** E-mail of the signed-in user. */
  readonly me: string;
  /** Null: no role is to be changed. */
  readonly change: RoleChange | null;
  readonly onClose: () => void;
}

const MAY: Readonly<Record<Role, string>> = {
  owner: 'manage keys, models, members and the plan, and delete the organization',
  member: 'see everything and try models',
  viewer: 'see everything',
};

/** Asks before a role is saved: pressing one key on a closed choice is enough to change it. */
export function ChangeRole({ org, me, change, onClose }: ChangeRoleProps) {
  const { email = '', from = 'viewer', to = 'viewer' } = change ?? {};
  const isMe = email === me;
  const losesOwner = from === 'owner' && to !== 'owner';
  return (
    <Confirm
      isOpen={change !== null}
      onClose={onClose}
      title={isMe ? `Change your own role to ${to}?` : `Make ${email} ${to === 'owner' ? 'an' : 'a'} ${to}?`}
      confirm="Change role"
      danger={losesOwner}
      action={() => setRole(org, email, to)}
      onDone={() => toast.success('Role changed.')}
    >
      <p>
        {isMe ? 'You' : 'They'} can then {MAY[to]}.
        {losesOwner
          ? ` Open invitations that ${isMe ? 'you' : 'they'} created stop working, and so does any key that Try it has created for ${isMe ? 'you' : 'them'}.`
          : ''}
      </p>
      {isMe && losesOwner ? <p>Only another owner can make you an owner again.</p> : null}
    </Confirm>
  );
}
