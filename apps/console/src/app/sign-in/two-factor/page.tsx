import type { Metadata } from 'next';
import { redirect } from 'next/navigation';
import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';
import { sameSitePath } from '#session/next-path.ts';
import { SecondStepForm } from '#session/second-step-form.tsx';

export const metadata: Metadata = { title: 'Two-factor' };

export default async function SecondStep({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}) {
  const next = sameSitePath((await searchParams).next);
  if (await currentUser()) redirect(next);
  return <SecondStepForm next={next} passkeys={services().passkeys !== null} />;
}
