import { services } from '../../../../../server/services.ts';
import { currentUser } from '../../../../../session/current.ts';
import { forward } from '../../../../../try/forward.ts';

/** Passes a request on to the gateway as it is, with the key it carries, and the answer back as it comes. */
export async function POST(
  request: Request,
  { params }: { params: Promise<{ org: string }> },
): Promise<Response> {
  const { control, apiUrl } = services();
  const user = await currentUser();
  if (!user) return new Response(null, { status: 401 });
  const allowed = await control.tryModel(user.actor, { org: (await params).org });
  if (!allowed.ok) return new Response(null, { status: allowed.refusal.code === 'forbidden' ? 403 : 404 });
  return forward(request, apiUrl);
}
