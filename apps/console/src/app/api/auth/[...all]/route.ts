import { services } from '#server/services.ts';

/**
 * The identity provider sends browsers back to this path. Everything else that the auth library
 * does goes through server actions.
 */
const CALLBACK = /^\/api\/auth\/(oauth2\/callback|callback)\/oidc$/;

export async function GET(request: Request): Promise<Response> {
  const { auth, oidcName } = services();
  if (oidcName === null || !CALLBACK.test(new URL(request.url).pathname))
    return new Response(null, { status: 404 });
  return auth.handler(request);
}
