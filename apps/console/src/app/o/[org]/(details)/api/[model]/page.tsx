import type { Metadata } from 'next';
import { loadModel } from '#models/load-model.ts';
import { ModelScreen } from '#models/model-screen.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';

/** Short, because a model's condition changes within seconds. */
const REFRESH_MS = 2_000;

interface ModelProps {
  readonly params: Promise<{ org: string; model: string }>;
}

export async function generateMetadata({ params }: ModelProps): Promise<Metadata> {
  const { org, model } = await params;
  return { title: (await loadModel(org, model)).name };
}

export default async function Model({ params }: ModelProps) {
  const { org: slug, model: id } = await params;
  const { actor, org } = await requireOrg(slug);
  const { control } = services();
  const model = await loadModel(slug, id);
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
