import type { Metadata } from 'next';
import { services } from '../../../../server/services.ts';
import { read, requireOrg } from '../../../../session/current.ts';
import { Live } from '../../../../ui/live.tsx';
import { UsageScreen } from '../../../../usage/usage-screen.tsx';

export const metadata: Metadata = { title: 'Usage' };

interface UsageProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function Usage({ params, searchParams }: UsageProps) {
  const { actor, org } = await requireOrg((await params).org);
  const { key, model } = await searchParams;
  const keyId = typeof key === 'string' && key !== '' ? key : undefined;
  const modelId = typeof model === 'string' && model !== '' ? model : undefined;
  const usage = read(
    await services().control.showUsage(actor, {
      org: org.slug,
      ...(keyId === undefined ? {} : { keyId }),
      ...(modelId === undefined ? {} : { modelId }),
    }),
  );
  return (
    <>
      <Live />
      <UsageScreen org={org.slug} usage={usage} keyId={keyId ?? ''} modelId={modelId ?? ''} />
    </>
  );
}
