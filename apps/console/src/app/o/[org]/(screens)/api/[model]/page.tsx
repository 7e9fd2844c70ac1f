import type { Metadata } from 'next';
import { ModelScreen } from '#models/model-screen.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';

export const metadata: Metadata = { title: 'Model' };
/** Short, because a model's condition changes within seconds. */
const REFRESH_MS = 2_000;

export default async function Model({ params }: { params: Promise<{ org: string; model: string }> }) {
  const { org: slug, model: id } = await params;
  const { actor, org } = await requireOrg(slug);
  const { control } = services();
  const model = read(await control.showModel(actor, { org: org.slug, id }));
  const { totals, days } = read(await control.showUsage(actor, { org: org.slug, modelId: id, brief: true }));
  return (
    <>
      <Live everyMs={REFRESH_MS} />
      <ModelScreen
        model={model}
        totals={totals}
        days={days}
        org={org.slug}
        mayChange={org.role === 'owner' && model.settings !== null}
      />
    </>
  );
}
