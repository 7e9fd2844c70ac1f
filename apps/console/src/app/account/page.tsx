import type { Metadata } from 'next';
import { AccountScreen } from '#account/account-screen.tsx';
import { deviceOf } from '#account/device.ts';
import { services } from '#server/services.ts';
import { membershipsOf, requireUser } from '#session/current.ts';
import { timeInWords } from '#session/words.ts';
import { Shell } from '#shell/shell.tsx';

export const metadata: Metadata = { title: 'Account' };

export default async function Account() {
  const user = await requireUser();
  const { accounts, sessions, secondFactor, passkeys, idleTimeoutMs } = services();
  const { userId } = user.actor;
  const [memberships, hasPassword, hasApp, open, own] = await Promise.all([
    membershipsOf(user),
    accounts.hasPassword(userId),
    secondFactor.hasApp(userId),
    sessions.list(userId),
    passkeys?.list(userId) ?? null,
  ]);
  return (
    <Shell
      org={null}
      orgs={memberships.map(({ slug, name, plan, role }) => ({ slug, name, plan, role }))}
      user={{ name: user.name, email: user.actor.email }}
    >
      <AccountScreen
        email={user.actor.email}
        hasPassword={hasPassword}
        twoFactor={user.twoFactor}
        hasApp={hasApp}
        passkeys={
          own?.map(({ id, name, createdAt }) => ({
            id,
            name,
            createdAt: createdAt?.toISOString() ?? null,
          })) ?? null
        }
        sessions={open.map(({ id, userAgent, startedAt, lastSeenAt }) => ({
          id,
          device: deviceOf(userAgent),
          isThis: id === user.sessionId,
          startedAt: startedAt.toISOString(),
          lastSeenAt: lastSeenAt.toISOString(),
        }))}
        idle={timeInWords(idleTimeoutMs)}
        memberships={memberships.map(({ slug, name, role, plan }) => ({ slug, name, role, plan }))}
      />
    </Shell>
  );
}
