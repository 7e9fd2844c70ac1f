import { MAX_USAGE_ROWS, type UsageRowView } from '@tidegate/control';
import type { Metadata } from 'next';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';
import { givenTexts, type Query } from '#ui/query.ts';
import { wantedCount } from '#ui/wanted-rows.ts';
import { choiceOf, periodOf } from '#usage/filter.ts';
import { chosenOf, optionsOf } from '#usage/options.ts';
import { unusedNames } from '#usage/unused-names.ts';
import { UsageScreen } from '#usage/usage-screen.tsx';

export const metadata: Metadata = { title: 'Usage' };

interface UsageProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Query>;
}

export default async function Usage({ params, searchParams }: UsageProps) {
  const { actor, org } = await requireOrg((await params).org);
  const query = await searchParams;
  const choice = choiceOf(query);
  const { keyId, modelId } = choice;
  const period = periodOf(query);
  const { control, now } = services();
  const of = { org: org.slug, ...period.span };
  const usage = read(
    await control.showUsage(actor, {
      ...of,
      maxRows: wantedCount(query, MAX_USAGE_ROWS),
      ...givenTexts(choice),
    }),
  );
  // The chosen key and model may have no usage together. Then a row of each alone has its name.
  const named: readonly UsageRowView[] =
    keyId !== '' && modelId !== '' && usage.rows.length === 0
      ? (
          await Promise.all(
            [{ keyId }, { modelId }].map((one) => control.showUsage(actor, { ...of, ...one, maxRows: 1 })),
          )
        ).flatMap((own) => read(own).rows)
      : usage.rows;
  const unused = await unusedNames(actor, org.slug, named, choice);
  return (
    <>
      <Live />
      <UsageScreen
        org={org.slug}
        usage={usage}
        maxRows={MAX_USAGE_ROWS}
        options={chosenOf(optionsOf(named, choice, unused), choice)}
        missing={(['key', 'model'] as const).filter((what) => unused[what] === null)}
        nowMs={now()}
        mayChangePlan={org.role === 'owner'}
        period={period}
        {...choice}
      />
    </>
  );
}
