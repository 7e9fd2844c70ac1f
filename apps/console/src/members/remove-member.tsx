'use client';

import { toast } from '@heroui/react';
import type { MemberView } from '@tidegate/control';
import { Confirm, useLeadsTo } from '../ui/dialogs.tsx';
import { removeMember } from './actions.ts';

interface RemoveMemberProps {
  readonly org: string;
  /** E-mail of the signed-in user. */
  readonly me: string;
  /** Null: no one is to be removed. */
  readonly member: MemberView | null;
  readonly onClose: () => void;
}

export function RemoveMember({ org, me, member, onClose }: RemoveMemberProps) {
  const isMe = member?.email === me;
  const leadsAway = useLeadsTo('/');
  return (
    <Confirm
      isOpen={member !== null}
      onClose={onClose}
      title={`Remove ${member?.email ?? ''}?`}
      confirm="Remove member"
      action={() => removeMember(org, member?.email ?? '')}
      {...(isMe ? leadsAway : { onDone: () => toast.success('Member removed.') })}
    >
      <p>
        {isMe ? 'You lose' : 'They lose'} access to this organization immediately. Open invitations that{' '}
        {isMe ? 'you' : 'they'} created stop working, and so does any key that Try it has created for{' '}
        {isMe ? 'you' : 'them'}. Other keys keep working: they belong to the organization.
      </p>
    </Confirm>
  );
}
