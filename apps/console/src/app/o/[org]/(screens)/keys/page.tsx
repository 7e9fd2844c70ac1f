import type { Metadata } from 'next';
import { countKeys } from '#keys/fullness.ts';
import { KeysScreen } from '#keys/keys-screen.tsx';
import { keyRowOf } from '#keys/row-of.ts';
import { KEYS_IN_ADDRESS } from '#keys/rows.ts';
import { rulesOf } from '#keys/rules-of.ts';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';
import type { Query } from '#ui/query.ts';
import { wantedRows } from '#ui/wanted-rows.ts';

export const metadata: Metadata = { title: 'Keys' };

interface KeysProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Query>;
}

export default async function Keys({ params, searchParams }: KeysProps) {
  const { actor, org } = await requireOrg((await params).org);
  const { control, publicApiUrl, now } = services();
  const at = { org: org.slug };
  const [listed, models, plans] = await Promise.all([
    control.listKeys(actor, at),
    control.listModels(actor, { ...at, activity: false }),
    control.listPlans(actor, { org: org.slug }),
  ]);
  const keys = read(listed);
  return (
    <>
      <Live />
      <KeysScreen
        org={org.slug}
        plan={org.plan}
        mayChange={org.role === 'owner'}
        keys={wantedRows(keys, await searchParams, KEYS_IN_ADDRESS).map(keyRowOf)}
        count={countKeys(keys, now())}
        total={keys.length}
        models={read(models).map(({ name, kind, condition }) => ({ name, kind, condition }))}
        rules={rulesOf(read(plans), org.plan)}
        today={new Date(now()).toISOString().slice(0, 10)}
        apiUrl={publicApiUrl}
      />
    </>
  );
}
