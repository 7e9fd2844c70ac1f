import type { Settlement } from '@tidegate/contracts';

/** What an entry says. Its organization and its id are those of the stream. */
type Entry = Omit<Settlement, 'orgId' | 'outboxId'>;

/** How an entry writes a value: as one word. */
interface Word<T> {
  readonly read: (word: string) => T;
  readonly write: (value: T) => string;
}

const NONE = '-';
const TEXT: Word<string> = { read: (word) => word, write: (value) => value };
const NUMBER: Word<number> = { read: Number, write: String };
const FLAG: Word<boolean> = { read: (word) => word === '1', write: (value) => (value ? '1' : '0') };
const orNone = <T>({ read, write }: Word<T>): Word<T | null> => ({
  read: (word) => (word === NONE ? null : read(word)),
  write: (value) => (value === null ? NONE : write(value)),
});

/**
 * The words of an entry, in their order. settle.lua has the same order, which settle.test.ts
 * checks. ADR 0003 says why they have no names, and how to add a word.
 */
const FIELDS: { readonly [F in keyof Entry]: Word<Entry[F]> } = {
  reservationId: TEXT,
  keyId: TEXT,
  modelId: TEXT,
  reservedAtMs: NUMBER,
  answered: FLAG,
  errorCode: orNone(TEXT),
  streamed: FLAG,
  reservedTokens: NUMBER,
  promptTokens: orNone(NUMBER),
  completionTokens: orNone(NUMBER),
  chargedTokens: NUMBER,
  durationMs: orNone(NUMBER),
  firstChunkMs: orNone(NUMBER),
};
const NAMES = Object.keys(FIELDS) as (keyof Entry)[];
/** Entries from limiters that did not yet know the time of the first chunk lack that word. */
const FEWEST_WORDS = NAMES.indexOf('firstChunkMs');

/** Parses an entry as settle.lua writes it. Null if it is malformed. */
export function parseOutboxEntry(orgId: string, outboxId: string, text: string): Settlement | null {
  const words = text.split(' ');
  if (words.length < FEWEST_WORDS || words.length > NAMES.length) return null;
  const entry: Record<string, unknown> = { orgId, outboxId };
  NAMES.forEach((name, i) => {
    entry[name] = FIELDS[name].read(words[i] ?? NONE);
  });
  return entry as unknown as Settlement;
}

/** Formats an entry as settle.lua does. */
export const formatOutboxEntry = (entry: Entry): string => NAMES.map((name) => wordOf(entry, name)).join(' ');

const wordOf = <F extends keyof Entry>(entry: Entry, name: F): string => FIELDS[name].write(entry[name]);
