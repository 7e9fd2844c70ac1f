import { limitsText, mayCallText } from '@tidegate/control';
import type { Metadata } from 'next';
import { KeysScreen } from '#keys/keys-screen.tsx';
import { rulesOf } from '#keys/rules-of.ts';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';

export const metadata: Metadata = { title: 'Keys' };

export default async function Keys({ params }: { params: Promise<{ org: string }> }) {
  const { actor, org } = await requireOrg((await params).org);
  const { control, publicApiUrl, now } = services();
  const at = { org: org.slug };
  const [keys, models, plans] = await Promise.all([
    control.listKeys(actor, at),
    control.listModels(actor, { ...at, activity: false }),
    control.listPlans(actor, { org: org.slug }),
  ]);
  return (
    <>
      <Live />
      <KeysScreen
        org={org.slug}
        plan={org.plan}
        mayChange={org.role === 'owner'}
        keys={read(keys).map((key) => ({
          ...key,
          mayCallText: mayCallText(key.mayCall),
          limitsText: limitsText(key),
        }))}
        models={read(models).map(({ name, kind, condition }) => ({ name, kind, condition }))}
        rules={rulesOf(read(plans), org.plan)}
        today={new Date(now()).toISOString().slice(0, 10)}
        apiUrl={publicApiUrl}
      />
    </>
  );
}
