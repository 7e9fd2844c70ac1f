import { streamOf } from '#server/http/streamed.ts';
import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';
import { givenTexts } from '#ui/query.ts';
import { csvOfUsage } from '#usage/csv.ts';
import { choiceOf, fileNameOf, periodOf } from '#usage/filter.ts';

/**
 * Sends as CSV what the Usage screen shows for the same query, by day or hour, key and model. Reads
 * and sends one day or hour at a time.
 */
export async function GET(
  request: Request,
  { params }: { params: Promise<{ org: string }> },
): Promise<Response> {
  const user = await currentUser();
  if (!user) return new Response(null, { status: 401 });
  const { org } = await params;
  const query = Object.fromEntries(new URL(request.url).searchParams);
  const of = { org, ...givenTexts(choiceOf(query)) };
  const { control } = services();
  const usage = await control.showUsage(user.actor, { ...of, ...periodOf(query).span, brief: true });
  if (!usage.ok) return new Response(null, { status: 404 });
  const { days, hours } = usage.value;
  const isHours = hours.length > 0;
  const steps = isHours ? hours.map(({ hour }) => hour) : days.map(({ day }) => day);
  const rowsOf = async (step: string) => {
    const rows = await control.showUsageOfStep(user.actor, { ...of, step });
    if (!rows.ok) throw new Error(rows.refusal.message);
    return rows.value;
  };
  return new Response(streamOf(csvOfUsage(isHours ? 'hour' : 'day', steps, rowsOf)), {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="usage-${org}-${fileNameOf(steps)}.csv"`,
      'cache-control': 'no-store',
    },
  });
}
