import type { SeenImage } from './images.ts';
import type { StandinRequest } from './request.ts';
import { tokenize } from './tokens.ts';

export interface Answer {
  /** The answer's tokens. Together they are its text. */
  readonly pieces: Iterable<string>;
  readonly tokens: number;
  readonly finishReason: string;
  /** The stop string that ended the answer. */
  readonly stopReason: string | null;
}

const FILLER = tokenize(
  ' Water rises and falls with the moon, twice a day, and the harbour keeps its gates by it.' +
    ' Boats wait outside, each with its turn, and none passes that was not let in.' +
    ' At night a lamp on the pier tells the height, and whoever reads it knows when to sail.',
);
const UNICODE = tokenize(' Grüße, 潮門, прилив, 🌊🚢 e\u0301té.');
const BLOCK = 'x'.repeat(1_024);

/**
 * Composes the answer to a request. The same request and seed give the same answer. It says that no
 * model wrote it.
 */
export function composeAnswer(request: StandinRequest): Answer {
  const { behaviour, maxTokens, stops } = request;
  if (behaviour.bytes !== undefined) return blocks(behaviour.bytes);
  const wanted = behaviour.tokens;
  let pieces = behaviour.say !== undefined ? tokenize(behaviour.say) : tokenize(introduction(request));
  if (behaviour.unicode) pieces = [...pieces, ...UNICODE];
  if (wanted !== undefined) pieces = stretch(pieces, Math.min(wanted, maxTokens), request.seed);
  const stopped = stops.length > 0 ? cutAtStop(pieces, stops) : null;
  if (stopped) pieces = stopped.pieces;

  const cut = pieces.length > maxTokens || (stopped === null && wanted !== undefined && wanted > maxTokens);
  if (cut) pieces = pieces.slice(0, maxTokens);
  return {
    pieces,
    tokens: pieces.length,
    finishReason: behaviour.finish ?? (cut ? 'length' : 'stop'),
    stopReason: cut ? null : (stopped?.stop ?? null),
  };
}

function introduction({ model, messageCount, promptTokens, images }: StandinRequest): string {
  const saw = images.length > 0 ? ` It saw ${images.map(describe).join(' and ')}.` : '';
  return `This is ${model}, a stand-in and not a model. It read ${messageCount} ${messageCount === 1 ? 'message' : 'messages'} of ${promptTokens} tokens.${saw}`;
}

const describe = ({ type, widthPx, heightPx }: SeenImage): string =>
  `a ${type} image of ${widthPx}x${heightPx} pixels`;

function stretch(pieces: readonly string[], tokens: number, seed: number): string[] {
  const stretched = pieces.slice(0, tokens);
  for (let i = Math.abs(seed); stretched.length < tokens; i++)
    stretched.push(FILLER[i % FILLER.length] ?? '');
  return stretched;
}

function cutAtStop(
  pieces: readonly string[],
  stops: readonly string[],
): { pieces: string[]; stop: string } | null {
  const text = pieces.join('');
  const [first] = stops
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at);
  return first ? { pieces: tokenize(text.slice(0, first.at)), stop: first.stop } : null;
}

/**
 * An answer of this many bytes, produced while it is sent. It ignores `max_tokens`: that is the
 * point of this behaviour.
 */
function blocks(bytes: number): Answer {
  const count = Math.ceil(bytes / BLOCK.length);
  return {
    pieces: {
      *[Symbol.iterator]() {
        for (let left = bytes; left > 0; left -= BLOCK.length)
          yield left >= BLOCK.length ? BLOCK : BLOCK.slice(0, left);
      },
    },
    tokens: count,
    finishReason: 'stop',
    stopReason: null,
  };
}
