import { readText, sendRequest } from './send-request.ts';

/** A server to ask. Answers are bounded in time and size, and redirects are not followed. */
export interface Asking {
  /** The URL up to `/v1`, such as `http://127.0.0.1:11434`. */
  readonly origin: string;
  /** The bearer token. Empty or absent: none. */
  readonly key?: string;
  /** Aborts all requests that are still open. */
  readonly signal: AbortSignal;
}

/**
 * Returns the JSON of an answer with status 200. Undefined: another status, too late, too large or
 * not JSON. `body` makes it a POST.
 */
export async function ask(asking: Asking, path: string, body?: object): Promise<unknown> {
  const answer = await answerOf(asking, path, body);
  return answer?.status === 200 ? answer.json : undefined;
}

/**
 * Whether a model server refuses a path because it got no valid key. False for a Tidegate gateway,
 * which is not a model server.
 */
export async function requiresKey(asking: Asking, path: string): Promise<boolean> {
  const { status, json } = (await answerOf(asking, path)) ?? {};
  return status === 401 && at(json, 'error') !== undefined && at(json, 'error', 'code') !== 'invalid_api_key';
}

interface Answer {
  readonly status: number;
  readonly json: unknown;
}

async function answerOf(
  { origin, key, signal }: Asking,
  path: string,
  body?: object,
): Promise<Answer | undefined> {
  const headers = {
    ...(key && { authorization: `Bearer ${key}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  try {
    const sent = body && JSON.stringify(body);
    const answer = await sendRequest({ url: origin + path, headers, body: sent, signal });
    const text = await readText(answer);
    return text === null ? undefined : { status: answer.statusCode ?? 0, json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Reads a member at any depth. Undefined: there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
    value,
  );
}

export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const MAX_CONTEXT_TOKENS = 16_777_216;

/** Reads a context length. Undefined: it is not one, or is too large to publish. */
export function tokens(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MAX_CONTEXT_TOKENS
    ? (value as number)
    : undefined;
}
