import type { Metadata } from 'next';
import { AcceptForm } from '#members/accept-form.tsx';
import { inviterName } from '#members/inviter.ts';
import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';
import { Entrance } from '#session/entrance.tsx';
import { Link } from '#ui/link.tsx';

export const metadata: Metadata = { title: 'Invitation' };

export default async function Invitation({ params }: { params: Promise<{ token: string }> }) {
  const { token } = await params;
  const { control, oidcName, passwords } = services();
  const [invitation, user] = await Promise.all([control.openInvitation(null, { token }), currentUser()]);
  if (!invitation.ok)
    return (
      <Entrance title="This link does not work" lead={invitation.refusal.message}>
        <Link href="/" className="block text-center text-sm inline-link">
          Go to the console
        </Link>
      </Entrance>
    );
  const { org, email, role, invitedBy, hasAccount } = invitation.value;
  return (
    <Entrance
      title={`Join ${org.name}`}
      lead={`${email} has been invited as ${role} by ${inviterName(invitedBy)}.`}
    >
      <AcceptForm
        token={token}
        email={email}
        hasAccount={hasAccount}
        signedInAs={user?.actor.email ?? null}
        onlyProvider={passwords ? null : oidcName}
      />
    </Entrance>
  );
}
