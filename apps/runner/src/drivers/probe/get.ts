import { withDeadline } from '@tidegate/runtime';
import { readText, sendRequest } from '@tidegate/upstream';

export interface GetRequest {
  readonly url: string;
  /** The bearer token. Empty: none. */
  readonly key?: string;
  readonly timeoutMs: number;
}

export interface GetResponse {
  readonly status: number;
  /** The content type in lower case. Empty: the server sent none. */
  readonly contentType: string;
  /** Null: it was too long to read. */
  readonly body: string | null;
}

/** Why there was no answer. It shows no address, key or body. */
export type NoAnswer = string;

export type Get = (request: GetRequest, signal: AbortSignal) => Promise<GetResponse | NoAnswer>;

/** Sends one GET on its own connection. Follows no redirects. Never throws. */
export const get: Get = (request, signal) => send(request, signal);

/** As `get`, but a POST of an empty object. */
export const postNothing: Get = (request, signal) => send(request, signal, '{}');

function send(
  { url, key, timeoutMs }: GetRequest,
  signal: AbortSignal,
  body?: string,
): Promise<GetResponse | NoAnswer> {
  return withDeadline(timeoutMs, signal, async (limited, expired) => {
    try {
      const headers = {
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const answer = await sendRequest({ url, headers, body, signal: limited });
      return {
        status: answer.statusCode ?? 0,
        contentType: (answer.headers['content-type'] ?? '').toLowerCase(),
        body: await readText(answer),
      };
    } catch (error) {
      return expired() ? 'no answer in time' : describe(error);
    }
  });
}

const KNOWN: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name could not be looked up',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'no answer in time',
};

function describe(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? (KNOWN[code] ?? code) : 'not an HTTP answer';
}
