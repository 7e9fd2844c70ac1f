import { type Dispatcher, request } from 'undici';

export interface Question {
  readonly url: string;
  /** Bearer token; empty: none. */
  readonly key?: string;
  readonly timeoutMs: number;
}

export interface Answer {
  readonly status: number;
  /** As the server names it; empty: not at all. */
  readonly contentType: string;
  /** Null: longer than is read. */
  readonly body: string | null;
}

/** Why there was no answer, in words without address, key or body. */
export type NoAnswer = string;

/** Most of an answer that is read: a list of some thousand models. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** One GET on a connection of its own; redirects are not followed. Never throws. */
export async function get(
  { url, key, timeoutMs }: Question,
  signal: AbortSignal,
): Promise<Answer | NoAnswer> {
  // Not AbortSignal.any: Node 20 keeps what that makes for as long as `signal` lives.
  const controller = new AbortController();
  const abort = () => controller.abort();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    abort();
  }, timeoutMs);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
  try {
    const { statusCode, headers, body } = await request(url, {
      method: 'GET',
      reset: true,
      headers: key ? { authorization: `Bearer ${key}` } : {},
      signal: controller.signal,
    });
    body.on('error', () => {});
    const type = headers['content-type'];
    return {
      status: statusCode,
      contentType: (typeof type === 'string' ? type : '').toLowerCase(),
      body: await readBounded(body),
    };
  } catch (error) {
    return late ? 'no answer in time' : describe(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

async function readBounded(body: Dispatcher.ResponseData['body']): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop ends the connection.
    if (bytes > MAX_ANSWER_BYTES) return null;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const KNOWN: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name could not be looked up',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
};

function describe(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? (KNOWN[code] ?? code) : 'not an HTTP answer';
}
