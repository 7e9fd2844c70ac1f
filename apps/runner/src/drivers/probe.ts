import { request } from 'undici';

export interface Probe {
  readonly url: string;
  /** Bearer token; empty: none. */
  readonly key?: string;
  readonly timeoutMs: number;
  readonly isUp: (status: number) => boolean;
}

/** Null: up. Otherwise why not, in words without address, key or body. */
export type ProbeFailure = string | null;

/** Most of an answer that is read, to reuse nothing and keep nothing. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** One GET on a connection of its own. Never throws. */
export async function probe(
  { url, key, timeoutMs, isUp }: Probe,
  signal: AbortSignal,
): Promise<ProbeFailure> {
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
    const { statusCode, body } = await request(url, {
      method: 'GET',
      reset: true,
      headers: key ? { authorization: `Bearer ${key}` } : {},
      signal: controller.signal,
    });
    body.on('error', () => {});
    await body.dump({ limit: MAX_ANSWER_BYTES });
    return isUp(statusCode) ? null : `HTTP ${statusCode}`;
  } catch (error) {
    return late ? 'no answer in time' : describe(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
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
