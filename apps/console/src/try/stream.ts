import { EventSourceParserStream } from 'eventsource-parser/stream';
import { SIGNED_OUT } from '../session/words.ts';

export interface TokenCounts {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** An answer from the API that is not 200. */
export interface ApiRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** The body as received. */
  readonly body: string;
  readonly retryAfterS: number | null;
}

export type TryEvent =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'usage'; readonly usage: TokenCounts }
  | { readonly kind: 'finish'; readonly reason: string }
  /** An answer that ends without it is incomplete. */
  | { readonly kind: 'done' };

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: TokenCounts | null;
}

/** Longer than any event of the gateway, in characters. */
const MAX_EVENT = 2 * 1024 * 1024;

/** The events of a streamed answer, as they arrive. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<TryEvent> {
  const reader = stream
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: MAX_EVENT }))
    .getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield* eventsIn(value.data);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function* eventsIn(data: string): Generator<TryEvent> {
  if (data === '[DONE]') return yield { kind: 'done' };
  const chunk = JSON.parse(data) as Chunk;
  const choice = chunk.choices?.[0];
  if (choice?.delta?.content) yield { kind: 'text', text: choice.delta.content };
  if (choice?.finish_reason) yield { kind: 'finish', reason: choice.finish_reason };
  if (chunk.usage) yield { kind: 'usage', usage: chunk.usage };
}

/** Reads an answer that is not 200. */
export async function refusalOf(response: Response): Promise<ApiRefusal> {
  const body = await response.text();
  const retryAfter = response.headers.get('retry-after');
  const base = {
    status: response.status,
    body,
    retryAfterS: retryAfter === null ? null : Number(retryAfter),
  };
  try {
    const parsed = JSON.parse(body) as { error?: { code?: string; message?: string }; console?: string };
    return {
      ...base,
      code: parsed.error?.code ?? 'no answer',
      message: parsed.error?.message ?? parsed.console ?? 'The gateway gave no reason.',
    };
  } catch {
    return {
      ...base,
      code: 'no answer',
      message: messageOf(response.status),
    };
  }
}

/** What the console's own answers mean. They have no body. */
function messageOf(status: number): string {
  if (status === 401) return SIGNED_OUT;
  if (status === 413) return 'This message is too large for the console. Send fewer or smaller images.';
  if (status >= 500) return 'The console or its database did not answer. Try again.';
  return 'The console refused this request.';
}
