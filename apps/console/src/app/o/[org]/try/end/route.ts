import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';

const MAX_ID_CHARACTERS = 100;
const STATUS = { forbidden: 403, not_found: 404 } as Readonly<Record<string, number>>;

/** Ends the key of a page that was left. The body is the key's id. */
export async function POST(
  request: Request,
  { params }: { params: Promise<{ org: string }> },
): Promise<Response> {
  const user = await currentUser();
  if (!user) return new Response(null, { status: 401 });
  const id = await request.text();
  if (id.length > MAX_ID_CHARACTERS) return new Response(null, { status: 400 });
  const ended = await services().control.endPageKey(user.actor, { org: (await params).org, id });
  return new Response(null, { status: ended.ok ? 204 : (STATUS[ended.refusal.code] ?? 503) });
}
