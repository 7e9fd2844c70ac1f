import type { Metadata } from 'next';
import { redirect } from 'next/navigation';
import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';
import { sameSitePath } from '#session/next-path.ts';
import { SignInForm } from '#session/sign-in-form.tsx';
import { signInTrouble } from '#session/words.ts';

export const metadata: Metadata = { title: 'Sign in' };

export default async function SignIn({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}) {
  const { next, error } = await searchParams;
  if (await currentUser()) redirect(sameSitePath(next));
  const { consoleUrl, oidcName, passwords, passkeys } = services();
  return (
    <SignInForm
      next={sameSitePath(next)}
      consoleUrl={consoleUrl}
      provider={oidcName}
      passwords={passwords}
      passkeys={passkeys !== null}
      trouble={signInTrouble(typeof error === 'string' ? error : undefined)}
    />
  );
}
