import type { Metadata } from 'next';
import { redirect } from 'next/navigation';
import { countKeys } from '#keys/fullness.ts';
import { rulesOf } from '#keys/rules-of.ts';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { StartScreen } from '#start/start-screen.tsx';
import { Live } from '#ui/live.tsx';

export const metadata: Metadata = { title: 'Get started' };
/** Short, because the visitor waits for each step to be ticked. */
const REFRESH_MS = 2_000;

export default async function Start({ params }: { params: Promise<{ org: string }> }) {
  const { actor, org } = await requireOrg((await params).org);
  // Only owners can take the steps.
  if (org.role !== 'owner') redirect(`/o/${org.slug}/keys`);
  const { control, publicApiUrl, now } = services();
  const at = { org: org.slug };
  const [models, keys, plans, usage] = await Promise.all([
    control.listModels(actor, at),
    control.listKeys(actor, at),
    control.listPlans(actor, { org: org.slug }),
    control.showUsage(actor, { ...at, brief: true }),
  ]);
  const all = read(keys);
  const { requests, errors } = read(usage).totals;
  return (
    <>
      <Live everyMs={REFRESH_MS} />
      <StartScreen
        org={org.slug}
        plan={org.plan}
        models={read(models)}
        keys={all.filter(({ state }) => state === 'Active').map(({ name }) => name)}
        count={countKeys(all, now())}
        requests={requests}
        errors={errors}
        rules={rulesOf(read(plans), org.plan)}
        today={new Date(now()).toISOString().slice(0, 10)}
        apiUrl={publicApiUrl}
      />
    </>
  );
}
