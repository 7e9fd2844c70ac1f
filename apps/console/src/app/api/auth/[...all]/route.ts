import { services } from '../../../../server/services.ts';

/** The identity provider sends browsers back here. Everything else of the auth library is done by server actions. */
const CALLBACK = /^\/api\/auth\/(oauth2\/callback|callback)\/oidc$/;

export async function GET(request: Request): Promise<Response> {
  const { auth, oidcName } = services();
  if (oidcName === null || !CALLBACK.test(new URL(request.url).pathname))
    return new Response(null, { status: 404 });
  return auth.handler(request);
}
