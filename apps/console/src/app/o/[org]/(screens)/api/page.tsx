import type { Metadata } from 'next';
import { ApiScreen } from '#models/api-screen.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';

export const metadata: Metadata = { title: 'API' };
/** Short, because a model's condition changes within seconds. */
const REFRESH_MS = 2_000;

export default async function Api({ params }: { params: Promise<{ org: string }> }) {
  const { actor, org } = await requireOrg((await params).org);
  const { control, publicApiUrl } = services();
  const models = read(await control.listModels(actor, { org: org.slug }));
  return (
    <>
      <Live everyMs={REFRESH_MS} />
      <ApiScreen org={org.slug} mayChange={org.role === 'owner'} models={models} apiUrl={publicApiUrl} />
    </>
  );
}
