import type { Metadata } from 'next';
import { MembersScreen } from '#members/members-screen.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';

export const metadata: Metadata = { title: 'Members' };

export default async function Members({ params }: { params: Promise<{ org: string }> }) {
  const { actor, org } = await requireOrg((await params).org);
  const { control } = services();
  const at = { org: org.slug };
  const mayChange = org.role === 'owner';
  const [members, invitations] = await Promise.all([
    control.listMembers(actor, at),
    mayChange ? control.listInvitations(actor, at) : null,
  ]);
  return (
    <MembersScreen
      org={org.slug}
      me={actor.email}
      mayChange={mayChange}
      requiresTwoFactor={org.requiresTwoFactor}
      members={read(members).map((member) => (mayChange ? member : { ...member, lacksTwoFactor: false }))}
      invitations={invitations ? read(invitations) : []}
    />
  );
}
