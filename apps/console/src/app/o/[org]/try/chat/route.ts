import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';
import { answerTry } from '#try/forward.ts';

/** Passes a request on to the gateway unchanged, with its key, and streams the answer back. */
export async function POST(
  request: Request,
  { params }: { params: Promise<{ org: string }> },
): Promise<Response> {
  const { control, apiUrl } = services();
  const user = await currentUser();
  if (!user) return new Response(null, { status: 401 });
  return answerTry(request, { control, actor: user.actor, org: (await params).org, apiUrl });
}
