import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EventReader } from './event-reader.ts';

const chunk = (content: string, more = '') =>
  `{"id":"c","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]${more}}`;

/**
 * Reads all events, as the rewriter does. One whose text the reader finds is returned as the last
 * event that it learned, with that text.
 */
function readAll(events: readonly string[]): unknown[] {
  const reader = new EventReader();
  let learned: unknown;
  return events.map((data) => {
    const text = reader.textOf(data);
    if (text !== null) return withText(learned, JSON.parse(text));
    const event: unknown = JSON.parse(data);
    reader.learn(data, event);
    if (reader.textOf(data) !== null) learned = event;
    return event;
  });
}

function withText(event: unknown, content: string): unknown {
  const copy = structuredClone(event) as { choices: { index?: number; delta: { content: string } }[] };
  const choice = copy.choices.find(({ index = 0 }) => index === 0);
  if (choice) choice.delta.content = content;
  return copy;
}

const expectParsed = (events: readonly string[]) =>
  expect(readAll(events)).toEqual(events.map((event) => JSON.parse(event)));

describe('an event reader', () => {
  it('reads what JSON.parse reads, whatever the texts and however the form changes', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('', '"', '\\', '","role":"x', 'é'),
    );
    const event = fc.oneof(
      text.map((content) => chunk(content)),
      text.map((content) => chunk(content, ',"usage":null')),
      text.map((content) => chunk(content).replaceAll(':', ': ')),
      text.map((content) => `{"content":${JSON.stringify(content)},"choices":[]}`),
      text.map((content) => `{"content":"a",${chunk(content).slice(1)}`),
      fc.json({ maxDepth: 2 }),
    );
    fc.assert(fc.property(fc.array(event, { maxLength: 8 }), expectParsed));
  });

  it('does not mistake something else in the place of the text for it', () => {
    const [before, after] = ['{"choices":[{"delta":{"content":', '}}]}'];
    const values = [
      '"a"',
      '"b"',
      'null',
      '["c"]',
      '"d","content":"e"',
      '"f","role":"g"',
      ' "h" ',
      '"\\u0069"',
    ];
    expectParsed(values.map((value) => `${before}${value}${after}`));
  });

  it('does not mistake another member of that name for the text', () => {
    const other = (content: string, text: string) =>
      `{"note":{"content":"${content}"},"choices":[{"delta":{"content":"${text}"}}]}`;
    expectParsed([other('a', 'b'), other('c', 'b'), other('c', 'd')]);
    const twice = (first: string, last: string) =>
      `{"choices":[{"delta":{"content":"${first}","content":"${last}"}}]}`;
    expectParsed([twice('a', 'a'), twice('b', 'a'), twice('b', 'c')]);
    const second = (text: string) =>
      `{"choices":[{"index":1,"delta":{"content":"${text}"}},{"index":0,"delta":{"content":"x"}}]}`;
    expectParsed([second('x'), second('y'), second('x')]);
  });

  it('learns nothing from an event that writes the name of the text unusually', () => {
    // A reader that ignored the missing name would take the `","` after the id for the text.
    const spaced = '{"id":"ab","choices":[{"delta":{"content" :","}}]}';
    const escaped = spaced.replace('"content" :', '"\\u0063ontent":');
    for (const event of [spaced, escaped]) expectParsed([event, event]);
  });

  it('finds no text in an event that JSON.parse refuses', () => {
    for (const text of ['"', 'a"b', '\\', '\n', '\\x', '"}']) {
      const reader = new EventReader();
      reader.learn(chunk('first'), JSON.parse(chunk('first')));
      const broken = chunk('').replace('""', `"${text}"`);
      expect(() => JSON.parse(broken)).toThrow(SyntaxError);
      expect(reader.textOf(broken)).toBeNull();
    }
  });

  it('finds the text of an event that differs in nothing else, without parsing the event', () => {
    const reader = new EventReader();
    expect(reader.textOf(chunk('a'))).toBeNull();
    reader.learn(chunk('a'), JSON.parse(chunk('a')));
    for (const text of ['a', 'b', '', '"\\', 'é', '\u2028', '\ud800'])
      expect(reader.textOf(chunk(text))).toBe(JSON.stringify(text));
    expect(reader.textOf(chunk('').replace('""', '"\\u0069\\/"'))).toBe('"i/"');
    expect(reader.textOf(chunk('b', ',"usage":null'))).toBeNull();
  });
});
