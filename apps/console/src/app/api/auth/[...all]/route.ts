import { services } from '#server/services.ts';

/**
 * The identity provider sends browsers back to this path. Server actions do everything else of the
 * auth library.
 */
const CALLBACK = /^\/api\/auth\/(oauth2\/callback|callback)\/oidc$/;

export async function GET(request: Request): Promise<Response> {
  const { auth, oidcName } = services();
  if (oidcName === null || !CALLBACK.test(new URL(request.url).pathname))
    return new Response(null, { status: 404 });
  return auth.handler(request);
}
