import type { Metadata } from 'next';
import { redirect } from 'next/navigation';
import { SetUpTwoFactor } from '#account/set-up-two-factor.tsx';
import { services } from '#server/services.ts';
import { membershipsOf, requireUser } from '#session/current.ts';
import { sameSitePath } from '#session/next-path.ts';
import { Shell } from '#shell/shell.tsx';

export const metadata: Metadata = { title: 'Two-factor' };

/**
 * Where an organization that requires a second factor sends members who have none. With `app`, an
 * account with passkeys also gets an authenticator app.
 */
export default async function TwoFactor({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}) {
  const user = await requireUser();
  const { next, app } = await searchParams;
  const wanted = next === undefined ? '/account' : sameSitePath(next);
  const { accounts, secondFactor, passkeys } = services();
  const [hasPassword, hasApp] = await Promise.all([
    accounts.hasPassword(user.actor.userId),
    secondFactor.hasApp(user.actor.userId),
  ]);
  const isOver = app === undefined ? user.twoFactor : hasApp;
  if (isOver || !hasPassword) redirect(wanted);
  const memberships = await membershipsOf(user);
  const [, area, named] = wanted.split(/[/?]/);
  const org = memberships.find(
    ({ slug, lacksTwoFactor }) => area === 'o' && slug === named && lacksTwoFactor,
  );
  return (
    <Shell
      org={null}
      orgs={memberships.map(({ slug, name, plan, role }) => ({ slug, name, plan, role }))}
      user={{ name: user.name, email: user.actor.email }}
    >
      <SetUpTwoFactor
        email={user.actor.email}
        requiredBy={org ? { slug: org.slug, name: org.name } : null}
        passkeys={passkeys !== null}
        adding={user.twoFactor}
      />
    </Shell>
  );
}
