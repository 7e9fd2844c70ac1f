'use client';

import { Button, Chip, toast } from '@heroui/react';
import type { InvitationView, ListedMember, MemberView, Role } from '@tidegate/control';
import { useState } from 'react';
import { useAct } from '../ui/act.ts';
import { Confirm } from '../ui/dialogs.tsx';
import { Choice } from '../ui/field.tsx';
import { PageHeader, Panel } from '../ui/page.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { leave, removeMember, setRole, withdrawInvitation } from './actions.ts';
import { InviteMember } from './invite-member.tsx';
import { inviterName } from './inviter.ts';
import { RequireTwoFactor } from './require-two-factor.tsx';
import { ROLE_OPTIONS } from './roles.ts';

interface MembersScreenProps {
  readonly org: string;
  /** E-mail of the signed-in user. */
  readonly me: string;
  readonly mayChange: boolean;
  readonly members: readonly ListedMember[];
  readonly requiresTwoFactor: boolean;
  readonly invitations: readonly InvitationView[];
}

export function MembersScreen(props: MembersScreenProps) {
  const { org, me, mayChange, members, requiresTwoFactor, invitations } = props;
  const [inviting, setInviting] = useState(false);
  return (
    <>
      <PageHeader
        title="Members"
        lead="Owners manage keys, models, members and the plan. Members can also try models. Viewers look."
        actions={
          mayChange ? (
            <Button onPress={() => setInviting(true)}>
              <span className="icon-user-plus size-4" aria-hidden />
              Invite
            </Button>
          ) : null
        }
      />
      <div className="space-y-6">
        <section className="card-surface" aria-label="Members">
          <MembersTable org={org} me={me} mayChange={mayChange} members={members} />
        </section>
        {invitations.length > 0 ? (
          <Panel title="Open invitations" lead="A link works once and for 7 days.">
            <InvitationsTable org={org} invitations={invitations} />
          </Panel>
        ) : null}
        {mayChange ? (
          <RequireTwoFactor
            org={org}
            isRequired={requiresTwoFactor}
            lacking={members.filter(({ lacksTwoFactor }) => lacksTwoFactor).length}
          />
        ) : null}
        <Leave org={org} isOnlyOwner={isOnlyOwner(me, members)} />
      </div>
      {inviting ? <InviteMember org={org} onClose={() => setInviting(false)} /> : null}
    </>
  );
}

function MembersTable({
  org,
  me,
  mayChange,
  members,
}: Omit<MembersScreenProps, 'invitations' | 'requiresTwoFactor'>) {
  const [removed, setRemoved] = useState<MemberView | null>(null);
  const { act, pending } = useAct();
  const owners = members.filter(({ role }) => role === 'owner').length;
  const change = (email: string, role: Role) =>
    act(async () => {
      const result = await setRole(org, email, role);
      if (!result.ok) toast.danger(result.refusal.message);
      return result;
    });
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
          {members.map((member) => {
            const onlyOwner = member.role === 'owner' && owners === 1;
            return (
              <tr key={member.userId}>
                <th scope="row">
                  <span className="font-medium">{member.name}</span>
                  {member.email === me ? <span className="text-muted"> (you)</span> : null}
                  <span className="block text-xs text-muted">
                    {member.email}
                    {mayChange && member.lacksTwoFactor ? <span className="block">No two-factor</span> : null}
                  </span>
                </th>
                <td data-label="Role">
                  {mayChange && !onlyOwner ? (
                    <Choice
                      label={`Role of ${member.email}`}
                      hideLabel
                      options={ROLE_OPTIONS}
                      value={member.role}
                      onChange={(role) => role !== member.role && void change(member.email, role)}
                      isDisabled={pending}
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
                    {onlyOwner ? (
                      <span className="text-xs text-muted">The only owner</span>
                    ) : (
                      <Button
                        size="sm"
                        variant="ghost"
                        onPress={() => setRemoved(member)}
                        aria-label={`Remove ${member.email}`}
                      >
                        Remove
                      </Button>
                    )}
                  </td>
                ) : null}
              </tr>
            );
          })}
        </tbody>
      </Table>
      <Confirm
        isOpen={removed !== null}
        onClose={() => setRemoved(null)}
        title={`Remove ${removed?.email ?? ''}?`}
        confirm="Remove member"
        action={() => removeMember(org, removed?.email ?? '')}
        onDone={() => toast.success('The member is removed.')}
      >
        <p>
          {removed?.email === me ? 'You lose' : 'They lose'} access to this organization at once. Open
          invitations that {removed?.email === me ? 'you' : 'they'} made stop working. Keys keep working: they
          belong to the organization.
        </p>
      </Confirm>
    </>
  );
}

const isOnlyOwner = (me: string, members: readonly MemberView[]): boolean =>
  members.filter(({ role }) => role === 'owner').every(({ email }) => email === me);

function Leave({ org, isOnlyOwner: cannot }: { org: string; isOnlyOwner: boolean }) {
  const [asked, setAsked] = useState(false);
  return (
    <Panel
      title="Leave organization"
      lead={
        cannot
          ? 'It would have no owner. Make someone else an owner first, or delete it on the Plan screen.'
          : 'Your account stays. Keys stay, too: they belong to the organization.'
      }
    >
      {cannot ? null : (
        <div className="px-5 pb-5">
          <Button variant="danger-soft" onPress={() => setAsked(true)}>
            Leave organization
          </Button>
        </div>
      )}
      <Confirm
        isOpen={asked}
        onClose={() => setAsked(false)}
        title="Leave organization?"
        confirm="Leave"
        action={() => leave(org)}
        onDone={() => window.location.assign('/')}
      >
        <p>You lose access to it at once. To come back, you need a new invitation.</p>
      </Confirm>
    </Panel>
  );
}

function InvitationsTable({ org, invitations }: { org: string; invitations: readonly InvitationView[] }) {
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
                  aria-label={`Withdraw the invitation of ${invitation.email}`}
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
        title={`Withdraw the invitation of ${withdrawn?.email ?? ''}?`}
        confirm="Withdraw"
        action={() => withdrawInvitation(org, withdrawn?.id ?? '')}
      >
        <p>Its link stops working at once.</p>
      </Confirm>
    </>
  );
}
