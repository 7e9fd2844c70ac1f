'use client';

import { Button } from '@heroui/react';
import type { InvitationView, ListedMember, MemberView } from '@tidegate/control';
import { useState } from 'react';
import { PageHeader, Panel } from '../ui/page.tsx';
import { InvitationsTable } from './invitations-table.tsx';
import { InviteMember } from './invite-member.tsx';
import { LeaveOrg } from './leave-org.tsx';
import { MembersTable } from './members-table.tsx';
import { RequireTwoFactor } from './require-two-factor.tsx';

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
        lead="Owners manage keys, models, members and the plan. Members can open every screen and try models. Viewers can only look."
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
          <Panel title="Open invitations" lead="Each link works once, within 7 days.">
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
        <LeaveOrg org={org} isOnlyOwner={isOnlyOwner(me, members)} />
      </div>
      {inviting ? <InviteMember org={org} onClose={() => setInviting(false)} /> : null}
    </>
  );
}

const isOnlyOwner = (me: string, members: readonly MemberView[]): boolean =>
  members.filter(({ role }) => role === 'owner').every(({ email }) => email === me);
