import { answerIn } from './answer.ts';

const NAME = '"content":';
/** How many forms are learned in one stream, however often a model changes its form. */
const MAX_FORMS = 8;
/** A JSON string without escapes and of ASCII characters only. */
const PLAIN = /^"[ !#-[\]-~]*"$/;

interface Chunk {
  readonly choices?: readonly ({
    readonly index?: unknown;
    readonly delta?: { readonly content?: unknown } | null;
  } | null)[];
}

/**
 * Recognizes, without parsing it, an event that differs from an earlier one only in its text, as
 * most do. Parsing is most of the cost of relaying. So the reader keeps what stands before and
 * after the text of an event. If a later event begins and ends in the same way, with one JSON
 * string in between, it is the same event with another text.
 */
export class EventReader {
  #before = '';
  #after = '';
  #forms = 0;

  /**
   * The text of an event of the form learned last, as `JSON.stringify` writes it. Null: the event
   * is of another form, or invalid.
   */
  textOf(data: string): string | null {
    const [start, end] = [this.#before.length, data.length - this.#after.length];
    // V8 compares strings of equal length word by word, but `startsWith` character by character.
    if (start === 0 || data.slice(0, start) !== this.#before || !data.startsWith(this.#after, end))
      return null;
    const json = data.slice(start, end);
    return PLAIN.test(json) ? json : normalized(json);
  }

  /**
   * Learns the form of a parsed event. Quotes within a JSON string are escaped, so the name that it
   * finds must be a member's. To be certain that this member carries the text, it changes the text
   * there and checks that the parsed event's text changes, too.
   */
  learn(data: string, event: unknown): void {
    const content = contentOf(event);
    if (typeof content !== 'string' || this.#forms === MAX_FORMS) return;
    const at = data.indexOf(NAME);
    // The name is written with an escape, or with a space before its colon.
    if (at === -1) return;
    const colon = at + NAME.length;
    const start = data[colon] === ' ' ? colon + 1 : colon;
    const text = JSON.stringify(content);
    const end = start + text.length;
    if (data.slice(start, end) !== text) return;
    this.#forms++;
    const [before, after] = [data.slice(0, start), data.slice(end)];
    const changed: unknown = JSON.parse(`${before}${JSON.stringify(`${content}.`)}${after}`);
    if (contentOf(changed) !== `${content}.`) return;
    this.#before = before;
    this.#after = after;
  }
}

const contentOf = (event: unknown): unknown => {
  const choices = (event as Chunk | null)?.choices;
  return Array.isArray(choices) ? answerIn((event as Required<Chunk>).choices)?.delta?.content : undefined;
};

/** A JSON string as `JSON.stringify` writes it. Null: it is something else. */
function normalized(json: string): string | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? JSON.stringify(value) : null;
  } catch {
    return null;
  }
}
