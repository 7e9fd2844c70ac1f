import type { Metadata } from 'next';
import { redirect } from 'next/navigation';
import { services } from '../../server/services.ts';
import { currentUser } from '../../session/current.ts';
import { SignInForm } from '../../session/sign-in-form.tsx';
import { providerTrouble } from '../../session/words.ts';

export const metadata: Metadata = { title: 'Sign in' };

export default async function SignIn({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}) {
  if (await currentUser()) redirect('/');
  const { next, error } = await searchParams;
  return (
    <SignInForm
      next={typeof next === 'string' ? next : '/'}
      provider={services().oidcName}
      trouble={providerTrouble(typeof error === 'string' ? error : undefined)}
    />
  );
}
