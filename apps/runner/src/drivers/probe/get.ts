import { type IncomingMessage, request as plain } from 'node:http';
import { request as secure } from 'node:https';
import { withDeadline } from '@tidegate/runtime';

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

/** The longest body to read: a list of a few thousand models fits. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * Sends one GET on its own connection. Does not follow redirects. Never throws.
 *
 * Node's own client parses answers in native code. Undici has V8 compile its parser, which takes
 * 0.1 s of a core just when callers who waited for a model are forwarded to it.
 */
export function get(
  { url, key, timeoutMs }: GetRequest,
  signal: AbortSignal,
): Promise<GetResponse | NoAnswer> {
  return withDeadline(timeoutMs, signal, async (limited, expired) => {
    try {
      const answer = await ask(url, key ? { authorization: `Bearer ${key}` } : {}, limited);
      return {
        status: answer.statusCode ?? 0,
        contentType: (answer.headers['content-type'] ?? '').toLowerCase(),
        body: await readBounded(answer),
      };
    } catch (error) {
      return expired() ? 'no answer in time' : describe(error);
    }
  });
}

function ask(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
  const send = url.startsWith('https:') ? secure : plain;
  return new Promise((resolve, reject) => {
    const request = send(url, { agent: false, headers, signal }, resolve);
    request.on('error', reject);
    // An answer that switches protocols is neither a response nor an error.
    request.on('close', () => reject(new Error('no answer')));
    request.end();
  });
}

async function readBounded(answer: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop closes the connection.
    if (bytes > MAX_ANSWER_BYTES) return null;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
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
