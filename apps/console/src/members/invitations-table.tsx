'use client';

import { Button } from '@heroui/react';
import type { InvitationView } from '@tidegate/control';
import { useState } from 'react';
import { Confirm } from '../ui/dialogs.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { withdrawInvitation } from './actions.ts';
import { inviterName } from './inviter.ts';

interface InvitationsTableProps {
  readonly org: string;
  readonly invitations: readonly InvitationView[];
}

export function InvitationsTable({ org, invitations }: InvitationsTableProps) {
  const [withdrawn, setWithdrawn] = useState<InvitationView | null>(null);
  return (
    <>
      <Table label="List of open invitations" cardsBelow="2xl" className="border-t border-border">
        <thead>
          <tr>
            <th scope="col">E-mail</th>
            <th scope="col" className="w-42">
              Role
            </th>
            <th scope="col" className="w-30 @4xl:w-50">
              Expires
            </th>
            <th scope="col" className="w-34">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {invitations.map((invitation) => (
            <tr key={invitation.id}>
              <th scope="row">
                <span className="font-medium">{invitation.email}</span>
                <span className="block text-xs text-muted">
                  invited by {inviterName(invitation.invitedBy)}
                </span>
              </th>
              <td data-label="Role" className="capitalize">
                {invitation.role}
              </td>
              <td data-label="Expires">
                <Time iso={invitation.expiresAt} />
              </td>
              <td className="actions">
                <Button
                  size="sm"
                  variant="ghost"
                  onPress={() => setWithdrawn(invitation)}
                  aria-label={`Withdraw the invitation for ${invitation.email}`}
                >
                  Withdraw
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      <Confirm
        isOpen={withdrawn !== null}
        onClose={() => setWithdrawn(null)}
        title={`Withdraw the invitation for ${withdrawn?.email ?? ''}?`}
        confirm="Withdraw"
        action={() => withdrawInvitation(org, withdrawn?.id ?? '')}
      >
        <p>Its link stops working immediately.</p>
      </Confirm>
    </>
  );
}
