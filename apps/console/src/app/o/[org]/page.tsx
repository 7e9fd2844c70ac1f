import { redirect } from 'next/navigation';
import { requireOrg } from '#session/current.ts';
import { screensFor } from '#shell/screens.ts';

/** An organization's address alone leads to its first screen. */
export default async function Organization({ params }: { params: Promise<{ org: string }> }) {
  const { org } = await requireOrg((await params).org);
  redirect(`/o/${org.slug}/${screensFor(org.role)[0]?.path}`);
}
