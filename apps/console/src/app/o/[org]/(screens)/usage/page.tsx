import type { Metadata } from 'next';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';
import { choiceOf, periodOf } from '#usage/filter.ts';
import { UsageScreen } from '#usage/usage-screen.tsx';

export const metadata: Metadata = { title: 'Usage' };

interface UsageProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function Usage({ params, searchParams }: UsageProps) {
  const { actor, org } = await requireOrg((await params).org);
  const query = await searchParams;
  const choice = choiceOf(query);
  const period = periodOf(query);
  const { control, now } = services();
  const usage = read(
    await control.showUsage(actor, {
      org: org.slug,
      days: period.days,
      ...(choice.keyId ? { keyId: choice.keyId } : {}),
      ...(choice.modelId ? { modelId: choice.modelId } : {}),
    }),
  );
  return (
    <>
      <Live />
      <UsageScreen
        org={org.slug}
        usage={usage}
        nowMs={now()}
        mayChangePlan={org.role === 'owner'}
        period={period}
        {...choice}
      />
    </>
  );
}
