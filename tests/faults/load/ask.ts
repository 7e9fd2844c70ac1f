import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Key } from '../world/org.ts';
import type { Order } from '../world/witness.ts';

/**
 * When a client hangs up: within its body, right after it, while it waits, during the stream, or at
 * the last chunk.
 */
export type HangUp = 'body' | 'sent' | 'waiting' | 'streaming' | 'last';

export interface Ask {
  readonly key: Key;
  readonly model: string;
  readonly gateway: string;
  readonly stream: boolean;
  readonly order: Order;
  readonly hangUp: HangUp | null;
  /** Used for `sent` and `waiting`. */
  readonly hangUpAfterMs: number;
  /** The caller's address, as a proxy would report it. */
  readonly from?: string;
}

/** What a client saw of its own request. */
export interface Seen {
  readonly ask: Ask;
  /** The request's id, which is also the reservation's. Null: no answer has begun. */
  id: string | null;
  /** 0: no answer. */
  status: number;
  /** Whether the whole answer arrived, with `[DONE]` if streamed. */
  complete: boolean;
  usage: { prompt_tokens: number; completion_tokens: number } | null;
  code: string | null;
  readonly startedMs: number;
  endedMs: number;
  /** Whether it took longer than any answer may. */
  hung: boolean;
}

const HUNG_MS = 45_000;

/** Sends one request as told. Resolves to its outcome. Never rejects. */
export function send(ask: Ask): Promise<Seen> {
  const seen: Seen = {
    ask,
    id: null,
    status: 0,
    complete: false,
    usage: null,
    code: null,
    startedMs: Date.now(),
    endedMs: 0,
    hung: false,
  };
  return new Promise((resolve) => {
    const body = bodyOf(ask);
    const outgoing = request(`${ask.gateway}/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${ask.key.value}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(ask.from ? { 'x-forwarded-for': ask.from } : {}),
      },
    });
    const timer = setTimeout(() => {
      seen.hung = true;
      outgoing.destroy();
    }, HUNG_MS);
    const end = () => {
      if (seen.endedMs > 0) return;
      clearTimeout(timer);
      seen.endedMs = Date.now();
      resolve(seen);
    };
    outgoing.on('error', end);
    outgoing.on('close', end);
    outgoing.on('response', (response) => take(response, seen, outgoing, end));
    transmit(outgoing, body, ask);
  });
}

const bodyOf = ({ model, stream, order }: Ask): string =>
  JSON.stringify({
    model,
    messages: [{ role: 'user', content: JSON.stringify(order) }],
    max_tokens: 100,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  });

function transmit(outgoing: ClientRequest, body: string, { hangUp, hangUpAfterMs }: Ask): void {
  if (hangUp === 'body') {
    outgoing.write(body.slice(0, body.length >> 1), () =>
      setTimeout(() => outgoing.destroy(), hangUpAfterMs),
    );
    return;
  }
  outgoing.end(body, () => {
    if (hangUp === 'sent') setTimeout(() => outgoing.destroy(), Math.min(hangUpAfterMs, 8));
    if (hangUp === 'waiting') setTimeout(() => outgoing.destroy(), hangUpAfterMs);
  });
}

function take(response: IncomingMessage, seen: Seen, outgoing: ClientRequest, end: () => void): void {
  const { hangUp, stream } = seen.ask;
  seen.status = response.statusCode ?? 0;
  seen.id = String(response.headers['x-request-id'] ?? '').replace(/^req_/, '') || null;
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (piece: string) => {
    text += piece;
    if (hangUp === 'streaming') outgoing.destroy();
    if (hangUp === 'last' && /"finish_reason":"/.test(text)) outgoing.destroy();
  });
  response.on('error', end);
  response.on('end', () => {
    if (seen.status !== 200) seen.code = codeOf(text);
    else if (stream) readStream(text, seen);
    else readWhole(text, seen);
    end();
  });
}

function codeOf(text: string): string | null {
  try {
    return JSON.parse(text).error.code;
  } catch {
    return null;
  }
}

function readWhole(text: string, seen: Seen): void {
  try {
    seen.usage = JSON.parse(text).usage;
    seen.complete = true;
  } catch {
    // The answer was cut off.
  }
}

function readStream(text: string, seen: Seen): void {
  const events = text.split('\n\n').filter((event) => event !== '');
  seen.complete = events.at(-1) === 'data: [DONE]';
  const last = events.at(-2);
  if (seen.complete && last) seen.usage = JSON.parse(last.slice('data: '.length)).usage ?? null;
}

/** The simplest possible request. */
export const plainAsk = (key: Key, gateway: string, order: Partial<Order> & { tag: string }): Ask => ({
  key,
  gateway,
  model: [...key.org.models.keys()][0] ?? '',
  stream: false,
  order: { key: key.id, org: key.org.id, headMs: 0, tokens: 5, gapMs: 0, usage: true, ...order },
  hangUp: null,
  hangUpAfterMs: 0,
});
