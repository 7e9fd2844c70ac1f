import { describe, expect, it } from '@jest/globals';
import type { AuditPage, AuditView } from '@tidegate/control';
import { exported, FORMATS, type Format } from './export.ts';
import { cursorOf, filterOf, given, queryOf } from './filter.ts';

const event = (id: string, details: AuditView['details'] = {}): AuditView => ({
  id,
  at: '2026-11-21T00:00:00.000Z',
  actor: 'ctl (alice)',
  action: 'key.create',
  target: 'key_x',
  details,
});
/** Endless pages of one event. Counts how many were read. */
function trail() {
  let pages = 0;
  const page = (): AuditPage => ({ events: [event(`evt_${pages}`)], next: `evt_${pages}` });
  const read = async () => {
    pages++;
    return { ok: true as const, value: page() };
  };
  return { first: page(), read, pages: () => pages };
}
const formatOf = (name: string) => FORMATS[name] as Format;

describe('an export of the audit trail', () => {
  it('has one JSON document a line, or one line of CSV with the details as JSON', async () => {
    const page = { events: [event('evt_1', { name: 'a "b", c' })], next: null };
    const all = async (name: string) => {
      let text = '';
      for await (const piece of exported(formatOf(name), page, trail().read)) text += piece;
      return text;
    };
    expect(JSON.parse(await all('jsonl'))).toEqual(page.events[0]);
    expect(await all('csv')).toContain('"{""name"":""a \\""b\\"", c""}",evt_1\r\n');
  });

  it.each([
    ['=HYPERLINK("x")', '=HYPERLINK'],
    ['a;=1', ';\\u003d1'],
    ['a; -1;\uff0b1', '; \\u002d1;\\uff0b1'],
    ['-1, "+1"', '-1, \\""+1'],
  ])('keeps the name %j in CSV, and has no formula where a spreadsheet may cut', async (name, written) => {
    const line = formatOf('csv').line(event('evt_1', { name, models: [name] }));
    const [, cell = ''] = /,("\{.*\}"),evt_1/.exec(line) ?? [];
    expect(cell).toContain(written);
    expect(cell).not.toMatch(/;\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/);
    expect(JSON.parse(cell.slice(1, -1).replaceAll('""', '"'))).toEqual({ name, models: [name] });
  });

  it('marks a cell that is a formula', () => {
    const line = formatOf('csv').line({ ...event('evt_1'), actor: '=1', target: '@x' });
    expect(line).toContain(",'=1,key.create,'@x,{},");
  });

  it('reads pages as they are taken, and ends after 500', async () => {
    const { first, read, pages } = trail();
    const pieces = exported(formatOf('jsonl'), first, read);
    for (let i = 0; i < 3; i++) await pieces.next();
    expect(pages()).toBe(1);
    let rest = 0;
    for await (const _ of pieces) rest++;
    expect(rest).toBe(498);
    expect(pages()).toBe(499);
  });
});

describe('the filter of the audit trail', () => {
  it('is what its query says, without fields that are empty', () => {
    const filter = { actor: 'ada@example.com', action: 'key', from: '2026-11-01', to: '' };
    const query = queryOf(filter, { before: 'evt_1' });
    expect(query).toBe('?actor=ada%40example.com&action=key&from=2026-11-01&before=evt_1');
    expect(filterOf(Object.fromEntries(new URLSearchParams(query)))).toEqual(filter);
    expect(given(filterOf({ actor: ['a', 'b'], to: ' ' }))).toEqual({});
    expect(queryOf(filterOf({}))).toBe('');
    expect(cursorOf({ before: 'evt_1', actor: 'ada' })).toEqual({ before: 'evt_1' });
    expect(cursorOf({ before: '' })).toEqual({});
  });
});
