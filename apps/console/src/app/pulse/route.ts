import { services } from '#server/services.ts';
import { currentUser } from '#session/current.ts';

/**
 * Tells a page, before it refreshes, whether the console and its database answer and whether the
 * user is still signed in.
 */
export async function GET(): Promise<Response> {
  const headers = { 'cache-control': 'no-store' };
  try {
    return new Response(null, { status: (await currentUser()) ? 204 : 401, headers });
  } catch {
    return new Response(null, { status: 503, headers });
  }
}

/** A page reports that someone is using it. */
export async function POST(request: Request): Promise<Response> {
  const session = await services().sessions.current(request.headers, true);
  return new Response(null, { status: session ? 204 : 401 });
}
