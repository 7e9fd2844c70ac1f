import { MAX_USAGE_ROWS, type UsageRowView } from '@tidegate/control';
import type { Metadata } from 'next';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';
import { FIRST_ROWS, wantsAll } from '#ui/wanted-rows.ts';
import { choiceOf, periodOf } from '#usage/filter.ts';
import { chosenOf, optionsOf } from '#usage/options.ts';
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
  const of = { org: org.slug, ...period.span };
  const usage = read(
    await control.showUsage(actor, {
      ...of,
      maxRows: wantsAll(query) ? MAX_USAGE_ROWS : FIRST_ROWS,
      ...(choice.keyId ? { keyId: choice.keyId } : {}),
      ...(choice.modelId ? { modelId: choice.modelId } : {}),
    }),
  );
  const isFiltered = choice.keyId !== '' || choice.modelId !== '';
  // What is chosen may have no usage together with the other. Then its own has its name.
  const named: readonly UsageRowView[] =
    isFiltered && usage.rows.length === 0 ? read(await control.showUsage(actor, of)).rows : usage.rows;
  return (
    <>
      <Live />
      <UsageScreen
        org={org.slug}
        usage={usage}
        maxRows={MAX_USAGE_ROWS}
        options={chosenOf(optionsOf(named, choice), choice)}
        nowMs={now()}
        mayChangePlan={org.role === 'owner'}
        period={period}
        {...choice}
      />
    </>
  );
}
