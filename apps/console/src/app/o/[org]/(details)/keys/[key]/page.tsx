import { limitsText } from '@tidegate/control';
import type { Metadata } from 'next';
import { countKeys, fullness } from '#keys/fullness.ts';
import { KeyScreen } from '#keys/key-screen.tsx';
import { loadKey } from '#keys/load-key.ts';
import { rulesOf } from '#keys/rules-of.ts';
import { RefusedOfKey } from '#refusals/refused-of-key.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';

interface KeyProps {
  readonly params: Promise<{ org: string; key: string }>;
}

export async function generateMetadata({ params }: KeyProps): Promise<Metadata> {
  const { org, key } = await params;
  return { title: (await loadKey(org, key)).name };
}

export default async function Key({ params }: KeyProps) {
  const { org: slug, key: id } = await params;
  const { actor, org } = await requireOrg(slug);
  const { control, publicApiUrl, now } = services();
  const at = { org: org.slug };
  const key = await loadKey(slug, id);
  const [usage, refusals, keys, models, plans] = await Promise.all([
    control.showUsage(actor, { ...at, keyId: id, brief: true }),
    control.showRefusals(actor, { ...at, keyId: id }),
    control.listKeys(actor, at),
    control.listModels(actor, { ...at, activity: false }),
    control.listPlans(actor, at),
  ]);
  const { totals, days } = read(usage);
  const rules = rulesOf(read(plans), org.plan);
  const { blocked, message } = fullness({ ...countKeys(read(keys), now()), plan: org.plan }, rules);
  return (
    <>
      <Live />
      <KeyScreen
        totals={totals}
        days={days}
        rules={rules}
        refused={<RefusedOfKey org={org.slug} keyShown={key} refusals={read(refusals)} />}
        org={org.slug}
        mayChange={org.role === 'owner'}
        keyShown={key}
        limits={limitsText(key)}
        full={blocked ? message : null}
        models={read(models).map(({ name, kind, condition }) => ({ name, kind, condition }))}
        today={new Date(now()).toISOString().slice(0, 10)}
        apiUrl={publicApiUrl}
      />
    </>
  );
}
