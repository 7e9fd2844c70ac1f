import type { Metadata } from 'next';
import { AccountScreen } from '#account/account-screen.tsx';
import { services } from '#server/services.ts';
import { membershipsOf, requireUser } from '#session/current.ts';
import { Shell } from '#shell/shell.tsx';

export const metadata: Metadata = { title: 'Account' };

export default async function Account() {
  const user = await requireUser();
  const memberships = await membershipsOf(user);
  return (
    <Shell
      org={null}
      orgs={memberships.map(({ slug, name, plan }) => ({ slug, name, plan }))}
      user={{ name: user.name, email: user.actor.email }}
    >
      <AccountScreen
        email={user.actor.email}
        hasPassword={await services().accounts.hasPassword(user.actor.userId)}
        memberships={memberships.map(({ slug, name, role, plan }) => ({ slug, name, role, plan }))}
      />
    </Shell>
  );
}
