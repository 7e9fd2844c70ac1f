'use client';

import { Button, Chip } from '@heroui/react';
import type { ListedMember, MemberView, Role } from '@tidegate/control';
import { useState } from 'react';
import { Choice } from '../ui/field.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { ChangeRole, type RoleChange } from './change-role.tsx';
import { RemoveMember } from './remove-member.tsx';
import { ROLE_OPTIONS } from './roles.ts';

interface MembersTableProps {
  readonly org: string;
  /** E-mail of the signed-in user. */
  readonly me: string;
  readonly mayChange: boolean;
  readonly members: readonly ListedMember[];
}

export function MembersTable({ org, me, mayChange, members }: MembersTableProps) {
  const [removed, setRemoved] = useState<MemberView | null>(null);
  const [change, setChange] = useState<RoleChange | null>(null);
  const owners = members.filter(({ role }) => role === 'owner').length;
  return (
    <>
      <Table label="List of members" cardsBelow="2xl">
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col" className="w-42">
              Role
            </th>
            <th scope="col" className="w-30 @4xl:w-50">
              Since
            </th>
            {mayChange ? (
              <th scope="col" className="w-34">
                <span className="sr-only">Actions</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow
              key={member.userId}
              member={member}
              isMe={member.email === me}
              isOnlyOwner={member.role === 'owner' && owners === 1}
              mayChange={mayChange}
              onRole={(role) => setChange({ email: member.email, from: member.role, to: role })}
              onRemove={() => setRemoved(member)}
            />
          ))}
        </tbody>
      </Table>
      <ChangeRole org={org} me={me} change={change} onClose={() => setChange(null)} />
      <RemoveMember org={org} me={me} member={removed} onClose={() => setRemoved(null)} />
    </>
  );
}

interface MemberRowProps {
  readonly member: ListedMember;
  readonly isMe: boolean;
  readonly isOnlyOwner: boolean;
  readonly mayChange: boolean;
  readonly onRole: (role: Role) => void;
  readonly onRemove: () => void;
}

function MemberRow(props: MemberRowProps) {
  const { member, isMe, isOnlyOwner, mayChange, onRole, onRemove } = props;
  return (
    <tr>
      <th scope="row">
        <span className="font-medium">{member.name}</span>
        {isMe ? <span className="text-muted"> (you)</span> : null}
        <span className="block text-xs text-muted">
          {member.email}
          {mayChange && member.lacksTwoFactor ? <span className="block">No two-factor</span> : null}
        </span>
      </th>
      <td data-label="Role">
        {mayChange && !isOnlyOwner ? (
          <Choice
            label={`Role of ${member.email}`}
            hideLabel
            options={ROLE_OPTIONS}
            value={member.role}
            onChange={(role) => role !== member.role && onRole(role)}
            className="w-full max-w-36"
          />
        ) : (
          <Chip size="sm" variant="soft" color={member.role === 'owner' ? 'accent' : 'default'}>
            <span className="capitalize">{member.role}</span>
          </Chip>
        )}
      </td>
      <td data-label="Since">
        <Time iso={member.since} />
      </td>
      {mayChange ? (
        <td className="actions">
          {isOnlyOwner ? (
            <span className="text-xs text-muted">The only owner</span>
          ) : (
            <Button size="sm" variant="ghost" onPress={onRemove} aria-label={`Remove ${member.email}`}>
              Remove
            </Button>
          )}
        </td>
      ) : null}
    </tr>
  );
}
