import type { Metadata } from 'next';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';
import { choiceOf, isWanted, periodOf } from '#usage/filter.ts';
import { optionsOf } from '#usage/options.ts';
import { UsageScreen } from '#usage/usage-screen.tsx';

/** Most rows of the table that are sent. The CSV has all. */
const MAX_ROWS = 200;

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
      ...period.span,
      ...(choice.keyId ? { keyId: choice.keyId } : {}),
      ...(choice.modelId ? { modelId: choice.modelId } : {}),
    }),
  );
  const rows = usage.rows.filter(isWanted(choice));
  return (
    <>
      <Live />
      <UsageScreen
        org={org.slug}
        usage={{ ...usage, rows: rows.slice(0, MAX_ROWS) }}
        rowsLeftOut={Math.max(0, rows.length - MAX_ROWS)}
        options={optionsOf(usage.rows, choice)}
        nowMs={now()}
        mayChangePlan={org.role === 'owner'}
        period={period}
        {...choice}
      />
    </>
  );
}
