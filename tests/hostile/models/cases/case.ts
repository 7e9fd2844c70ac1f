import type { ErrorCode } from '@tidegate/contracts';
import { event, streamed, whole } from '../bytes.ts';
import type { Play } from '../server.ts';

/** What the client sees. */
export type Sees =
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string | null }
  | {
      readonly kind: 'whole';
      readonly content: string;
      readonly finish: 'stop' | 'length';
      readonly usage: object | null;
    }
  /** The content of each chunk after the role's; the last one has the finish reason. */
  | {
      readonly kind: 'stream';
      readonly pieces: readonly string[];
      readonly finish: 'stop' | 'length';
      readonly usage: object | null;
    }
  /** A stream that begins so and breaks off, without a finish reason and `[DONE]`. */
  | { readonly kind: 'incomplete'; readonly pieces: readonly string[] };

/** What the usage holds of it: tokens as reported, or the whole reservation, of an answer or of an error. */
export type Counts =
  | { readonly prompt: number; readonly completion: number }
  | 'unreported'
  | { readonly error: string };

/** After it, its connection may serve again, was closed by the gateway, or was ended by the model. */
export type Fate = 'kept' | 'closed' | 'ended';

export interface Case {
  readonly name: string;
  readonly play: Play;
  readonly streamed: boolean;
  readonly sees: Sees;
  readonly counts: Counts;
  readonly connection: Fate;
  /** It lasts until a time is over: such ones begin first. */
  readonly slow?: boolean;
}

const TOKENS = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const COUNTED = { prompt: 5, completion: 2 };

/** A play that writes these bytes and leaves the connection as it is. */
export const says =
  (...pieces: (string | Uint8Array)[]): Play =>
  async (wire) => {
    for (const piece of pieces) await wire.write(piece);
  };

type More = Partial<Case>;
type Seen<K> = Partial<Omit<Extract<Sees, { kind: K }>, 'kind'>>;

export const answered = (name: string, play: Play, sees: Seen<'whole'> = {}, more: More = {}): Case => ({
  ...{ name, play, streamed: false, connection: 'kept' },
  sees: { kind: 'whole', content: 'Hello', finish: 'stop', usage: TOKENS, ...sees },
  counts: sees.usage === null ? 'unreported' : COUNTED,
  ...more,
});

export const relayed = (name: string, play: Play, sees: Seen<'stream'> = {}, more: More = {}): Case => ({
  ...{ name, play, streamed: true, connection: 'kept' },
  sees: { kind: 'stream', pieces: ['Hel', 'lo'], finish: 'stop', usage: TOKENS, ...sees },
  counts: sees.usage === null ? 'unreported' : COUNTED,
  ...more,
});

/** Broken off after it has begun. */
export const brokenOff = (
  name: string,
  play: Play,
  error: string,
  more: More & Seen<'incomplete'> = {},
): Case => {
  const { pieces = ['Hel'], ...rest } = more;
  return {
    ...{ name, play, streamed: true, connection: 'closed' },
    sees: { kind: 'incomplete', pieces },
    counts: { error },
    ...rest,
  };
};

/** An error whether it was to be streamed or not: the same JSON. */
export const failed = (
  name: string,
  play: Play,
  more: More & { code?: ErrorCode; message?: string } = {},
): Case => {
  const { code = 'upstream_error', message = null, ...rest } = more;
  return {
    ...{ name, play, streamed: false, connection: 'closed' },
    sees: { kind: 'error', code, message },
    counts: { error: code },
    ...rest,
  };
};

/** The same failure asked for whole and as a stream. */
export const failedBoth = (...args: Parameters<typeof failed>): Case[] => [
  failed(...args),
  { ...failed(...args), streamed: true },
];

/** A play that answers with this as JSON. */
export const json = (value: unknown): Play => says(whole(JSON.stringify(value)));
/** A play that answers with these events, and ends in order. */
export const events = (...chunks: (object | string)[]): Play =>
  says(streamed(...chunks.map((data) => event(data))));
