import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { outlineJson } from './json-text.ts';

const NO_LIMIT = { values: Number.MAX_SAFE_INTEGER, names: Number.MAX_SAFE_INTEGER };
const RUNS = { numRuns: 1_000 };

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function sourcesOf(text: string): Map<string, string> {
  const members = outlineJson(text, NO_LIMIT)?.members ?? new Map();
  return new Map([...members].map(([name, span]) => [name, text.slice(span.start, span.end)]));
}

/** JSON text with white space, escapes and number spellings that JSON.stringify never writes. */
const space = fc.constantFrom('', ' ', '\n', '\t\r\n ');
const number = fc.constantFrom(
  '0',
  '-0',
  '1',
  '100',
  '100.0',
  '1e2',
  '1E+2',
  '-12.50e-3',
  '9007199254740993',
  '1e400',
);
const string = fc.string({ unit: 'binary' }).chain((value) => {
  const plain = JSON.stringify(value);
  const escaped = `"${[...Array(value.length).keys()].map((i) => `\\u${value.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`;
  return fc.constantFrom(plain, escaped);
});
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    number,
    string,
    fc.constantFrom('true', 'false', 'null', '{}', '[]', '[ ]', '{\n}'),
    fc
      .tuple(space, fc.array(tie('json')))
      .map(([gap, items]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`),
    fc
      .tuple(space, fc.array(fc.tuple(string, tie('json'))))
      .map(
        ([gap, all]) =>
          `${gap}{${gap}${all.map(([k, v]) => `${k}${gap}:${gap}${v}`).join(`${gap},`)}${gap}}${gap}`,
      ),
  ),
}));

describe('outlineJson', () => {
  it('accepts every text that JSON.parse accepts', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(parses(text)).toBe(true);
        expect(outlineJson(text, NO_LIMIT)).not.toBeNull();
      }),
      RUNS,
    );
  });

  it('agrees with JSON.parse about texts with one character dropped, doubled or replaced', () => {
    const damaged = fc
      .tuple(
        json,
        fc.nat(),
        fc.constantFrom(
          '',
          '"',
          ',',
          ':',
          '[',
          ']',
          '{',
          '}',
          '\\',
          '0',
          '.',
          'e',
          '-',
          't',
          '\u0001',
          '\u00a0',
        ),
      )
      .map(([text, at, by]) => {
        const i = at % (text.length + 1);
        return text.slice(0, i) + by + text.slice(i + (at % 2));
      });
    fc.assert(
      fc.property(damaged, (text) => {
        expect([text, outlineJson(text, NO_LIMIT) !== null]).toEqual([text, parses(text)]);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    '',
    ' ',
    '01',
    '-',
    '+1',
    '.5',
    '1.',
    '1e',
    '1e+',
    'NaN',
    'Infinity',
    'tru',
    'nulll',
    "'a'",
    '"a',
    '"\\x"',
    '"\\u12g4"',
    '"\n"',
    '[',
    ']',
    '[1',
    '[1,]',
    '[,1]',
    '[1 2]',
    '{',
    '{}}',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{a:1}',
    '{"a" 1}',
    '[}',
    '{]',
    '{"a":[}',
    '1 2',
    '\ufeff1',
    '\u00a01',
    '[1],',
    '"\\',
    '"\\u',
    '{"a":1]',
    '[1}',
  ])('refuses %j as JSON.parse does', (text) => {
    expect(parses(text)).toBe(false);
    expect(outlineJson(text, NO_LIMIT)).toBeNull();
  });

  it('gives each top-level member the text of its last value, escaped names and duplicates included', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('"n"', '"\\u006e"', '"m"', '"__proto__"', '""'), json, space)),
        (all) => {
          const text = `{${all.map(([name, value, gap]) => `${gap}${name}${gap}:${gap}${value}`).join(',')}}`;
          const parsed = JSON.parse(text) as object;
          const sources = sourcesOf(text);
          expect(new Set(sources.keys())).toEqual(new Set(Object.keys(parsed)));
          for (const [name, value] of Object.entries(parsed)) {
            expect(JSON.parse(sources.get(name) as string)).toEqual(value);
          }
        },
      ),
      RUNS,
    );
  });

  it('keeps how a number was written', () => {
    const text = '{"a":100.0,"b" : 1e2 ,"c":[1,{"a":5}],"d":-0,"a":7}';
    expect([...sourcesOf(text)]).toEqual([
      ['a', '7'],
      ['b', '1e2'],
      ['c', '[1,{"a":5}]'],
      ['d', '-0'],
    ]);
  });

  it('keeps the order of the text where objects would sort integer-like names first', () => {
    expect([...sourcesOf('{"b":1,"1":2,"a":3,"0":4}').keys()]).toEqual(['b', '1', 'a', '0']);
  });

  it('has members only for a top-level object', () => {
    for (const text of ['[{"a":1}]', '1', '"a"', 'null'])
      expect(outlineJson(text, NO_LIMIT)?.members).toBeNull();
  });

  it('counts values at every depth and leaves out members that begin after the limit', () => {
    expect(outlineJson('{"a":[1,2,{"b":null}],"c":true}', NO_LIMIT)?.values).toBe(7);
    const outline = outlineJson('{"a":1,"b":2,"c":3,"d":4}', { ...NO_LIMIT, values: 3 });
    expect(outline?.values).toBe(5);
    expect([...(outline?.members?.keys() ?? [])]).toEqual(['a', 'b']);
  });

  it('keeps no more names than the limit, counts repeated ones, and reads on to the end of the text', () => {
    const text = '{"a":1,"a":{"x":2},"b":3,"c":4';
    const outline = outlineJson(`${text}}`, { ...NO_LIMIT, names: 3 });
    expect([...(outline?.members?.keys() ?? [])]).toEqual(['a', 'b']);
    expect(outline?.names).toBe(4);
    expect(outlineJson(text, { ...NO_LIMIT, names: 3 })).toBeNull();
  });

  it('counts the names in the widest object, repeated ones included', () => {
    for (const [text, widest] of [
      ['[1,2,3]', 0],
      ['{"a":[{"b":1,"b":2,"c":{}},{"d":[1,2,3,4]}],"e":1}', 3],
      ['{"a":{},"b":[],"c":1,"d":{"e":1}}', 4],
      [`[{${'"a":1,'.repeat(999)}"b":[]}]`, 254],
    ] as const)
      expect(outlineJson(text, NO_LIMIT)?.widest).toBe(widest);
  });

  it('counts the containers around the deepest value', () => {
    for (const [text, depth] of [
      ['1', 0],
      ['[]', 1],
      ['{"a":[{"b":[]},{"c":1}],"d":{}}', 4],
    ] as const)
      expect(outlineJson(text, NO_LIMIT)?.depth).toBe(depth);
  });

  it('walks a million nested arrays', () => {
    const depth = 2 ** 20;
    expect(outlineJson('['.repeat(depth) + ']'.repeat(depth), { ...NO_LIMIT, values: 10 })?.values).toBe(
      depth,
    );
    expect(outlineJson('['.repeat(2 * depth), { ...NO_LIMIT, values: 10 })).toBeNull();
    expect(outlineJson('{"a":'.repeat(2 ** 20), { ...NO_LIMIT, values: 10 })).toBeNull();
  });
});
