import type { Metadata } from 'next';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { TryScreen } from '#try/try-screen.tsx';

export const metadata: Metadata = { title: 'Try it' };

export default async function Try({ params }: { params: Promise<{ org: string }> }) {
  const { actor, org } = await requireOrg((await params).org);
  const { control, publicApiUrl } = services();
  read(await control.tryModel(actor, { org: org.slug }));
  const [models, plans] = await Promise.all([
    control.listModels(actor, { org: org.slug, activity: false }),
    control.listPlans(actor, { org: org.slug }),
  ]);
  return (
    <TryScreen
      org={org.slug}
      mayChange={org.role === 'owner'}
      apiUrl={publicApiUrl}
      models={read(models).map(({ name, kind, condition }) => ({ name, kind, condition }))}
      imagesOnPlan={read(plans).find(({ name }) => name === org.plan)?.images ?? false}
    />
  );
}
