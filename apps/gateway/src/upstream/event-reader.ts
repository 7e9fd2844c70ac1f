import { answerIn } from './answer.ts';

const NAME = '"content":';
/** How many forms are learned in one stream. A model that keeps changing its form costs no more. */
const MAX_FORMS = 8;

interface Delta {
  content: string;
}

interface Chunk {
  readonly choices?: readonly ({ readonly index?: unknown; readonly delta?: Delta } | null)[];
}

/**
 * Parses the events of a stream. Most events differ from the one before only in their text, and
 * parsing is most of the cost of relaying. So the reader keeps what stood before and after the text
 * of an event. If a later event begins and ends the same way, only the value between is parsed. If
 * that is one JSON string, the event is the same with another text.
 */
export class EventReader {
  #before = '';
  #after = '';
  /** The event of that form. Its text is replaced. */
  #event: unknown = null;
  #delta: Delta | null = null;
  #forms = 0;

  /**
   * The result may change with the next call.
   *
   * @throws SyntaxError
   */
  read(data: string): unknown {
    if (this.#delta && data.startsWith(this.#before) && data.endsWith(this.#after)) {
      const text = stringIn(data.slice(this.#before.length, data.length - this.#after.length));
      if (text !== null) {
        this.#delta.content = text;
        return this.#event;
      }
    }
    const event: unknown = JSON.parse(data);
    if (this.#forms < MAX_FORMS) this.#learn(data, event);
    return event;
  }

  /**
   * Quotes within a JSON string are escaped, so the name that it finds is a member's. That this
   * member is the piece of text is certain if the text changes with it.
   */
  #learn(data: string, event: unknown): void {
    const content = deltaOf(event)?.content;
    if (typeof content !== 'string') return;
    const colon = data.indexOf(NAME) + NAME.length;
    const start = data[colon] === ' ' ? colon + 1 : colon;
    const text = JSON.stringify(content);
    const end = start + text.length;
    if (data.slice(start, end) !== text) return;
    this.#forms++;
    const [before, after] = [data.slice(0, start), data.slice(end)];
    const changed: unknown = JSON.parse(`${before}${JSON.stringify(`${content}.`)}${after}`);
    if (deltaOf(changed)?.content !== `${content}.`) return;
    this.#before = before;
    this.#after = after;
    this.#event = changed;
    this.#delta = deltaOf(changed) ?? null;
  }
}

const deltaOf = (event: unknown): Delta | undefined => {
  const choices = (event as Chunk | null)?.choices;
  return Array.isArray(choices) ? answerIn((event as Required<Chunk>).choices)?.delta : undefined;
};

/** The value of a JSON string. Null if it is anything else. */
function stringIn(json: string): string | null {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
