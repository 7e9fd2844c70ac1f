import type { Metadata } from 'next';
import { ApiScreen } from '#models/api-screen.tsx';
import { firstUsable } from '#models/first-usable.ts';
import { countByCondition, inOrder, isLive, MODELS_IN_ADDRESS, modelRow } from '#models/rows.ts';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';
import type { Query } from '#ui/query.ts';
import { wantedRows } from '#ui/wanted-rows.ts';

export const metadata: Metadata = { title: 'API' };
/** Short, because a model's condition changes within seconds. */
const REFRESH_MS = 2_000;

interface ApiProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Query>;
}

export default async function Api({ params, searchParams }: ApiProps) {
  const { actor, org } = await requireOrg((await params).org);
  const { control, publicApiUrl } = services();
  const models = read(await control.listModels(actor, { org: org.slug }));
  const severalPools = new Set(models.map(({ pool }) => pool)).size > 1;
  const sent = wantedRows(inOrder(models), await searchParams, MODELS_IN_ADDRESS);
  return (
    <>
      <Live everyMs={REFRESH_MS} />
      <ApiScreen
        org={org.slug}
        mayChange={org.role === 'owner'}
        models={sent.map((model) => modelRow(model, severalPools))}
        total={models.length}
        conditions={countByCondition(models)}
        isLive={isLive(models)}
        example={firstUsable(models)?.name ?? null}
        apiUrl={publicApiUrl}
      />
    </>
  );
}
