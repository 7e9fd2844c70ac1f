import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EventReader } from './event-reader.ts';

const chunk = (content: string, more = '') =>
  `{"id":"c","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]${more}}`;

/** Reads all, each before the next: a result may change with the next call. */
function readAll(events: readonly string[]): unknown[] {
  const reader = new EventReader();
  return events.map((event) => structuredClone(reader.read(event)));
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

  it('does not take the place of a text for one when something else stands there', () => {
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

  it('does not take another member of that name for the text', () => {
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

  it('refuses what JSON.parse refuses, also in the form of the event before', () => {
    for (const text of ['"', 'a"b', '\\', '\n', '\\x', '"}']) {
      const reader = new EventReader();
      reader.read(chunk('first'));
      const broken = chunk('').replace('""', `"${text}"`);
      expect(() => JSON.parse(broken)).toThrow(SyntaxError);
      expect(() => reader.read(broken)).toThrow(SyntaxError);
    }
  });

  it('parses only the text of an event that differs in nothing else', () => {
    const reader = new EventReader();
    const first = reader.read(chunk('a'));
    const second = reader.read(chunk('b'));
    expect(second).not.toBe(first);
    // Made once for the form, not for each event.
    expect(reader.read(chunk('c'))).toBe(second);
    expect(reader.read(chunk('"\\'))).toBe(second);
    expect(second).toEqual(JSON.parse(chunk('"\\')));
  });
});
