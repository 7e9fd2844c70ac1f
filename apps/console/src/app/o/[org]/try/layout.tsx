import { forbidden } from 'next/navigation';
import type { ReactNode } from 'react';
import { services } from '#server/services.ts';
import { requireOrg } from '#session/current.ts';

/** Checks the role outside the page's loading state, so that a refusal can still set the status. */
export default async function TryLayout({
  children,
  params,
}: {
  children: ReactNode;
  params: Promise<{ org: string }>;
}) {
  const { actor, org } = await requireOrg((await params).org);
  const allowed = await services().control.tryModel(actor, { org: org.slug });
  if (!allowed.ok) forbidden();
  return children;
}
