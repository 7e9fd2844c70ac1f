import { EVENTS_A_PAGE, exported, FORMATS } from '#audit/export.ts';
import { auditFilterOf, auditInputOf, cursorOf } from '#audit/filter.ts';
import { streamOf } from '#server/http/streamed.ts';
import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';

/**
 * Sends the audit events that match the query, as CSV or as JSON lines (`format`). With `before`,
 * only those older than this event.
 */
export async function GET(
  request: Request,
  { params }: { params: Promise<{ org: string }> },
): Promise<Response> {
  const user = await currentUser();
  if (!user) return new Response(null, { status: 401 });
  const { org } = await params;
  const query = Object.fromEntries(new URL(request.url).searchParams);
  const name = query.format ?? 'csv';
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (!format) return new Response(null, { status: 400 });
  const { control, now } = services();
  const wanted = { org, ...auditInputOf(auditFilterOf(query)), limit: EVENTS_A_PAGE };
  const first = await control.listAudit(user.actor, { ...wanted, ...cursorOf(query) });
  if (!first.ok) return new Response(null, { status: first.refusal.code === 'invalid_input' ? 400 : 404 });
  const read = (before: string) => control.listAudit(user.actor, { ...wanted, before });
  const day = new Date(now()).toISOString().slice(0, 10);
  return new Response(streamOf(exported(format, first.value, read)), {
    headers: {
      'content-type': format.type,
      'content-disposition': `attachment; filename="audit-${day}.${name}"`,
      'cache-control': 'no-store',
    },
  });
}
