import { currentUser } from '../../session/current.ts';

/** Whether the console and its database answer, and whether its asker is still signed in: what a page asks before it refreshes. */
export async function GET(): Promise<Response> {
  const headers = { 'cache-control': 'no-store' };
  try {
    return new Response(null, { status: (await currentUser()) ? 204 : 401, headers });
  } catch {
    return new Response(null, { status: 503, headers });
  }
}
