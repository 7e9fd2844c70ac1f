import type { ErrorCode } from '@tidegate/contracts';
import { event, streamed, whole } from '../bytes.ts';
import type { Play } from '../server.ts';

/** The message of a model's failure. */
export const MODEL_FAILED_TEXT = 'The model failed to answer.';

/** What the client receives. */
export type Sees =
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string | null }
  | {
      readonly kind: 'whole';
      readonly content: string;
      readonly finish: 'stop' | 'length';
      readonly usage: object | null;
    }
  /**
   * `pieces`: the content of each chunk after the one with the role. The last of them has the
   * finish reason.
   */
  | {
      readonly kind: 'stream';
      readonly pieces: readonly string[];
      readonly finish: 'stop' | 'length';
      readonly usage: object | null;
    }
  /** A stream that begins with `pieces` and breaks off, without a finish reason and `[DONE]`. */
  | { readonly kind: 'incomplete'; readonly pieces: readonly string[] };

/**
 * How the usage counts the request: the reported tokens, or the whole reservation for an answer
 * without valid usage or for an error.
 */
export type Counts =
  | { readonly prompt: number; readonly completion: number }
  | 'unreported'
  | { readonly error: string };

/**
 * What happens to the connection afterwards: it is reused, the gateway closes it, or the model ends
 * it.
 */
export type Fate = 'kept' | 'closed' | 'ended';

export interface Case {
  readonly name: string;
  readonly play: Play;
  readonly streamed: boolean;
  readonly sees: Sees;
  readonly counts: Counts;
  readonly connection: Fate;
  /** It lasts as long as a time-out, or longer. So it starts early, and needs short time-outs. */
  readonly slow?: boolean;
}

const TOKENS = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const COUNTED = { prompt: 5, completion: 2 };

/** A play that writes these bytes and leaves the connection open. */
export const says =
  (...pieces: (string | Uint8Array)[]): Play =>
  async (wire) => {
    for (const piece of pieces) await wire.write(piece);
  };

type More = Partial<Case>;
type Seen<K> = Partial<Omit<Extract<Sees, { kind: K }>, 'kind'>>;

export const answered = (name: string, play: Play, sees: Seen<'whole'> = {}, more: More = {}): Case => ({
  name,
  play,
  streamed: false,
  connection: 'kept',
  sees: { kind: 'whole', content: 'Hello', finish: 'stop', usage: TOKENS, ...sees },
  counts: sees.usage === null ? 'unreported' : COUNTED,
  ...more,
});

export const relayed = (name: string, play: Play, sees: Seen<'stream'> = {}, more: More = {}): Case => ({
  name,
  play,
  streamed: true,
  connection: 'kept',
  sees: { kind: 'stream', pieces: ['Hel', 'lo'], finish: 'stop', usage: TOKENS, ...sees },
  counts: sees.usage === null ? 'unreported' : COUNTED,
  ...more,
});

/** A stream that breaks off after it has begun. */
export const brokenOff = (
  name: string,
  play: Play,
  error: string,
  more: More & Seen<'incomplete'> = {},
): Case => {
  const { pieces = ['Hel'], ...rest } = more;
  return {
    name,
    play,
    streamed: true,
    connection: 'closed',
    sees: { kind: 'incomplete', pieces },
    counts: { error },
    ...rest,
  };
};

/** A failure that gives the same JSON error, whole or streamed. */
export const failed = (
  name: string,
  play: Play,
  more: More & { code?: ErrorCode; message?: string } = {},
): Case => {
  const { code = 'upstream_error', message = null, ...rest } = more;
  return {
    name,
    play,
    streamed: false,
    connection: 'closed',
    sees: { kind: 'error', code, message },
    counts: { error: code },
    ...rest,
  };
};

/** The same failure, requested whole and as a stream. */
export const failedBoth = (...args: Parameters<typeof failed>): Case[] => [
  failed(...args),
  { ...failed(...args), streamed: true },
];

/**
 * Returns all cases. Those that are requested this way get the ids of the requirements they prove.
 */
export const proving = (asked: 'whole' | 'streamed', ids: string, cases: readonly Case[]): Case[] =>
  cases.map((one) =>
    one.streamed === (asked === 'streamed') ? { ...one, name: `${one.name} ${ids}` } : one,
  );

/** A play that answers with this value as JSON. */
export const json = (value: unknown): Play => says(whole(JSON.stringify(value)));
/** A play that sends these events and ends its answer properly. */
export const events = (...chunks: (object | string)[]): Play =>
  says(streamed(...chunks.map((data) => event(data))));
