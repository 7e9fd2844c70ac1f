import { type Dispatcher, request } from 'undici';

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

/** The longest body to read: a list of some thousand models fits. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Sends one GET on its own connection. Does not follow redirects. Never throws. */
export async function get(
  { url, key, timeoutMs }: GetRequest,
  signal: AbortSignal,
): Promise<GetResponse | NoAnswer> {
  // This does not use AbortSignal.any: in Node 20, what it creates lives as long as `signal`.
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
    // Leaving the loop closes the connection.
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
