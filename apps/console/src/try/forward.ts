import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { BEARER, ERRORS, errorBody } from '@tidegate/contracts';
import type { Actor, Control } from '@tidegate/control';
import { LIMITS } from '@tidegate/limits';
import { SilentServer, sendRequest } from '@tidegate/upstream';
import { CLIENT_ADDRESS_HEADER } from '../server/http/names.ts';

/** A gateway is never silent for longer, unless it hangs: it may have to wake a model first. */
const SILENCE_MS = LIMITS.coldStartMs + LIMITS.streamMaxMs.alwaysOn;

const PASSED_BACK = ['content-type', 'retry-after', 'x-request-id', 'x-should-retry'];

export interface TryDeps {
  readonly control: Pick<Control, 'tryKey'>;
  readonly actor: Actor;
  readonly org: string;
  /** Base URL of the API. */
  readonly apiUrl: string;
  /** How long the API may be silent. */
  readonly silenceMs?: number;
}

/**
 * Sends a completion request on to the API, if the actor may and the key belongs to the
 * organization.
 *
 * Refuses wrong keys here, as the API would. To the API, all keys come from this server's address,
 * and a few wrong ones would block that address for everyone.
 */
export async function answerTry(
  request: Request,
  { control, actor, org, apiUrl, silenceMs = SILENCE_MS }: TryDeps,
): Promise<Response> {
  const key = BEARER.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
  const known = await control.tryKey(actor, { org, key });
  if (!known.ok) return new Response(null, { status: known.refusal.code === 'forbidden' ? 403 : 404 });
  return known.value
    ? forward(request, key, { apiUrl, silenceMs })
    : Response.json(UNKNOWN_KEY, UNAUTHORIZED);
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
async function forward(
  request: Request,
  key: string,
  { apiUrl, silenceMs }: { readonly apiUrl: string; readonly silenceMs: number },
): Promise<Response> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
  };
  const address = request.headers.get(CLIENT_ADDRESS_HEADER);
  if (address) headers['x-forwarded-for'] = address;
  const body = request.body ? Readable.fromWeb(request.body as NodeReadableStream) : '';
  try {
    const answer = await sendRequest({
      url: `${apiUrl}/chat/completions`,
      headers,
      body,
      signal: request.signal,
      silenceMs,
    });
    const status = answer.statusCode ?? 0;
    // A redirect is not passed back: the key is for this API.
    if (status >= 300 && status <= 399) {
      answer.destroy();
      return unreachable();
    }
    const back = new Headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
    for (const name of PASSED_BACK) {
      const value = answer.headers[name];
      if (value !== undefined) back.set(name, String(value));
    }
    return new Response(bodyOf(answer), { status, headers: back });
  } catch (error) {
    return error instanceof SilentServer ? noAnswer('did not answer in time') : unreachable();
  }
}

const unreachable = () => noAnswer('could not be reached');
const noAnswer = (why: string) => Response.json({ console: `The gateway ${why}.` }, { status: 504 });

/** Reads an answer only as fast as its caller does. */
function bodyOf(answer: IncomingMessage): ReadableStream<Uint8Array> {
  const pieces: AsyncIterator<Uint8Array> = answer[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void answer.destroy(),
  });
}
