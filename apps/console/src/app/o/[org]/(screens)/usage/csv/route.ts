import { streamOf } from '#server/http/streamed.ts';
import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';
import { csvOfUsage } from '#usage/csv.ts';
import { choiceOf, isWanted } from '#usage/filter.ts';

const DAYS = 30;
const DAY_MS = 86_400_000;

/**
 * Sends the last 30 UTC days as CSV, by day, key and model, for all usage or for one key or model.
 * Reads and sends one day at a time.
 */
export async function GET(
  request: Request,
  { params }: { params: Promise<{ org: string }> },
): Promise<Response> {
  const user = await currentUser();
  if (!user) return new Response(null, { status: 401 });
  const { org } = await params;
  const { control, now } = services();
  const days = Array.from({ length: DAYS }, (_, i) =>
    new Date(now() - (DAYS - 1 - i) * DAY_MS).toISOString().slice(0, 10),
  );
  const allowed = await control.listModels(user.actor, { org, activity: false });
  if (!allowed.ok) return new Response(null, { status: 404 });
  const wanted = isWanted(choiceOf(Object.fromEntries(new URL(request.url).searchParams)));
  const rowsOf = async (day: string) => {
    const rows = await control.showUsageOfDay(user.actor, { org, day });
    if (!rows.ok) throw new Error(rows.refusal.message);
    return rows.value.filter(wanted);
  };
  return new Response(streamOf(csvOfUsage(days, rowsOf)), {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="usage-${days.at(-1)}.csv"`,
      'cache-control': 'no-store',
    },
  });
}
