import { describe, expect, it } from '@jest/globals';
import type { AuditPage, AuditView } from '@tidegate/control';
import { exported, FORMATS, type Format } from './export.ts';
import { auditFilterOf, auditInputOf, auditQueryOf, cursorOf } from './filter.ts';

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
const INCOMPLETE =
  'Older events are left out. Export the days up to 2026-11-21, or add before=evt_499 to the address.';
const formatOf = (name: string) => FORMATS[name] as Format;

describe('an export of the audit trail', () => {
  it('has one JSON document per line, or one line of CSV per event with its details as JSON', async () => {
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
  ])('keeps the name %j in CSV, with no formula where a spreadsheet may split it', async (name, written) => {
    const line = formatOf('csv').line(event('evt_1', { name, models: [name] }));
    const [, cell = ''] = /,("\{.*\}"),evt_1/.exec(line) ?? [];
    expect(cell).toContain(written);
    expect(cell).not.toMatch(/;\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/);
    expect(JSON.parse(cell.slice(1, -1).replaceAll('""', '"'))).toEqual({ name, models: [name] });
  });

  it('puts an apostrophe before a cell that would be a formula', () => {
    const line = formatOf('csv').line({ ...event('evt_1'), actor: '=1', target: '@x' });
    expect(line).toContain(",'=1,key.create,'@x,{},");
  });

  it('reads pages only as they are needed, and ends after 500', async () => {
    const { first, read, pages } = trail();
    const pieces = exported(formatOf('jsonl'), first, read);
    for (let i = 0; i < 3; i++) await pieces.next();
    expect(pages()).toBe(1);
    for await (const _ of pieces);
    expect(pages()).toBe(499);
  });

  it('says in its last line that it is incomplete, and which day has the rest', async () => {
    const linesOf = async (name: string) => {
      const { first, read } = trail();
      let text = '';
      for await (const piece of exported(formatOf(name), first, read)) text += piece;
      return text.trimEnd().split(/\r?\n/);
    };
    const lines = await linesOf('jsonl');
    expect(lines).toHaveLength(501);
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({ incomplete: INCOMPLETE });
    expect((await linesOf('csv')).at(-1)).toBe(`,,incomplete,,"${INCOMPLETE}",`);
  });

  it('has no such line if it is complete, even with as many pages as it may have', async () => {
    const { first, read, pages } = trail();
    const upTo500 = async () => {
      const { value } = await read();
      return { ok: true as const, value: pages() === 499 ? { ...value, next: null } : value };
    };
    let text = '';
    for await (const piece of exported(formatOf('jsonl'), first, upTo500)) text += piece;
    expect(text).not.toContain('incomplete');
  });
});

describe('the filter of the audit trail', () => {
  it('is what its query says, without fields that are empty', () => {
    const filter = { actor: 'ada@example.com', action: 'key', from: '2026-11-01', to: '' };
    const query = auditQueryOf(filter, { before: 'evt_1' });
    expect(query).toBe('?actor=ada%40example.com&action=key&from=2026-11-01&before=evt_1');
    expect(auditFilterOf(Object.fromEntries(new URLSearchParams(query)))).toEqual(filter);
    expect(auditInputOf(auditFilterOf({ actor: ['a', 'b'], to: ' ' }))).toEqual({});
    expect(auditQueryOf(auditFilterOf({}))).toBe('');
    expect(cursorOf({ before: 'evt_1', actor: 'ada' })).toEqual({ before: 'evt_1' });
    expect(cursorOf({ before: '' })).toEqual({});
  });
});
