import { describe, expect, it } from '@jest/globals';
import { nameField } from './fields.ts';

const said = (value: string) => nameField('Name', 80).safeParse(value).error?.issues[0]?.message;

describe('a name', () => {
  it.each([
    ['a zero-width space', 'ad\u200bmin'],
    ['a soft hyphen', 'ad\u00admin'],
    ['a word joiner', 'ad\u2060min'],
    ['a direction override', 'live\u202egnp.yek'],
    ['a directional isolate', '\u2067key\u2069'],
    ['a joiner between Latin letters', 'ad\u200dmin'],
    ['a joiner at the end', 'key \u06a9\u200c'],
    ['a letter that is blank', 'a\u3164b'],
    ['a Braille pattern without dots', 'a\u2800b'],
    ['a tag', 'a\u{e0061}b'],
    ['a selector after a letter', 'a\ufe0f'],
    ['a selector after a digit', 'prod1\ufe0f'],
    ['a selector after #', 'prod #\ufe0f'],
    ['a selector after *', 'prod*\ufe0f'],
    ['a selector after a tile that has one look', '\u{1f000}\ufe0f'],
    ['a second selector', '❤\ufe0f\ufe0f'],
    ['a private-use character', 'a\ue000'],
    ['a character that does not exist', 'a\u0378'],
    ['half a surrogate pair', 'a\ud83d'],
  ])('with %s is refused with the reason', (_what, value) => {
    expect(said(value)).toContain('Name must not have invisible characters');
  });

  it.each([
    ['', 'Give a name of 1 to 80 characters.'],
    ['  ', 'Give a name of 1 to 80 characters.'],
    ['a'.repeat(81), 'Name must have 1 to 80 characters.'],
    ...['a\u0000b', 'a\nb', 'a\u2028b', 'a\u2029b'].map((value) => [value, 'Name must not have line breaks']),
  ])('like %j is refused with the reason', (value, reason) => expect(said(value)).toContain(reason));

  it.each([
    'Ada Lovelace',
    "Renée d'Ünal-Łukasz №1 (été) — 50 %",
    '東京 API キー',
    'كتاب‌ها',
    'क्‍ष',
    'می‌خواهم',
    'шлюз',
    '🔑 prod',
    '👩🏽‍💻 dev',
    '❤️‍🔥',
    '👨‍👩‍👧',
    '1️⃣',
    '#\ufe0f\u20e3 *\ufe0f\u20e3 0\u20e3',
    '🇩🇪 🏴‍☠️',
    '👋🏿 🕵🏽‍♀️',
    '©\ufe0f ™\ufe0f ☎\ufe0f ‼\ufe0f Ⓜ\ufe0f',
  ])('may be in any script, with emoji: %s', (value) => {
    expect(nameField('Name', 80).parse(value)).toBe(value);
  });
});
