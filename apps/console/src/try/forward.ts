import { CLIENT_ADDRESS_HEADER } from '../server/http/names.ts';

const PASSED_BACK = ['content-type', 'retry-after', 'x-request-id', 'x-should-retry'];

/**
 * Sends a completion request on to the API at `apiUrl`. The key in its Authorization header is passed through and neither
 * kept nor logged. A caller that goes away ends the request.
 */
export async function forward(request: Request, apiUrl: string): Promise<Response> {
  const headers = new Headers({ 'content-type': 'application/json' });
  const key = request.headers.get('authorization');
  if (key) headers.set('authorization', key);
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
