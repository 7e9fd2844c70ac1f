/** How a server is asked: never longer, never for more than this, and nowhere else than it says it is. */
export interface Asking {
  /** `http://127.0.0.1:11434`, without a path. */
  readonly origin: string;
  /** Ends every question that is still open. */
  readonly signal: AbortSignal;
}

const MAX_BYTES = 1024 * 1024;

/** The JSON that a path answers with 200; undefined: anything else, too late or too large. `body` makes it a POST. */
export async function ask(asking: Asking, path: string, body?: object): Promise<unknown> {
  const answer = await answerOf(asking, path, body);
  return answer?.status === 200 ? answer.json : undefined;
}

/** Whether a path is refused without a key as model servers do it; a Tidegate gateway, which does too, is none. */
export async function asksForKey(asking: Asking, path: string): Promise<boolean> {
  const { status, json } = (await answerOf(asking, path)) ?? {};
  return status === 401 && at(json, 'error') !== undefined && at(json, 'error', 'code') !== 'invalid_api_key';
}

interface Answer {
  readonly status: number;
  readonly json: unknown;
}

async function answerOf(
  { origin, signal }: Asking,
  path: string,
  body?: object,
): Promise<Answer | undefined> {
  try {
    const response = await fetch(origin + path, {
      signal,
      redirect: 'error',
      ...(body && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
    const text = await readText(response);
    return text === undefined ? undefined : { status: response.status, json: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Undefined: it is too large. */
async function readText(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const next = await reader?.read();
    if (!next || next.done) return Buffer.concat(chunks).toString();
    bytes += next.value.byteLength;
    if (bytes > MAX_BYTES) {
      await reader?.cancel();
      return undefined;
    }
    chunks.push(next.value);
  }
}

/** A member of what was answered, however deep; undefined where there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
    value,
  );
}

export const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const MAX_CONTEXT_TOKENS = 16_777_216;

/** A context length as it may be published. */
export function tokens(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MAX_CONTEXT_TOKENS
    ? (value as number)
    : undefined;
}
