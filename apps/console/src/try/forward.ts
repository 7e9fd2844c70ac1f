import { BEARER, ERRORS, errorBody } from '@tidegate/contracts';
import type { Actor, Control } from '@tidegate/control';
import { CLIENT_ADDRESS_HEADER } from '../server/http/names.ts';

const PASSED_BACK = ['content-type', 'retry-after', 'x-request-id', 'x-should-retry'];

export interface TryDeps {
  readonly control: Pick<Control, 'tryKey'>;
  readonly actor: Actor;
  readonly org: string;
  /** Base URL of the API. */
  readonly apiUrl: string;
}

/**
 * Sends a completion request on to the API, if the actor may and the key belongs to the
 * organization.
 *
 * Refuses wrong keys here, as the API would. The API sees all keys come from this server's address,
 * and a few wrong ones would block that address for everyone.
 */
export async function answerTry(
  request: Request,
  { control, actor, org, apiUrl }: TryDeps,
): Promise<Response> {
  const key = BEARER.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
  const known = await control.tryKey(actor, { org, key });
  if (!known.ok) return new Response(null, { status: known.refusal.code === 'forbidden' ? 403 : 404 });
  return known.value ? forward(request, key, apiUrl) : Response.json(UNKNOWN_KEY, UNAUTHORIZED);
}

const UNAUTHORIZED = {
  status: ERRORS.invalid_api_key.status,
  headers: { 'cache-control': 'no-store', 'www-authenticate': 'Bearer' },
};
const UNKNOWN_KEY = errorBody({
  code: 'invalid_api_key',
  message: 'The API key is missing, wrong, revoked, expired, or belongs to another organization.',
});

/** Passes the key on without keeping or logging it. A caller that hangs up ends the request. */
async function forward(request: Request, key: string, apiUrl: string): Promise<Response> {
  const headers = new Headers({ 'content-type': 'application/json', authorization: `Bearer ${key}` });
  const address = request.headers.get(CLIENT_ADDRESS_HEADER);
  if (address) headers.set('x-forwarded-for', address);
  try {
    const answer = await fetch(`${apiUrl}/chat/completions`, {
      method: 'POST',
      headers,
      body: request.body,
      duplex: 'half',
      redirect: 'error',
      cache: 'no-store',
      signal: request.signal,
    } as RequestInit);
    const back = new Headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
    for (const name of PASSED_BACK) {
      const value = answer.headers.get(name);
      if (value !== null) back.set(name, value);
    }
    return new Response(answer.body, { status: answer.status, headers: back });
  } catch {
    return Response.json({ console: 'The gateway could not be reached.' }, { status: 504 });
  }
}
