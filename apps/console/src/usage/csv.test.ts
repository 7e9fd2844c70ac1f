import { describe, expect, it } from '@jest/globals';
import type { UsageRowView } from '@tidegate/control';
import { csvOfUsage } from './csv.ts';

const row = (part: Partial<UsageRowView>): UsageRowView => ({
  keyId: 'key_1',
  key: 'ci',
  keyPrefix: 'ti_abc',
  modelId: 'mdl_1',
  model: 'small',
  modelDeleted: false,
  requests: 2,
  errors: 1,
  promptTokens: 3,
  completionTokens: 4,
  reservedTokens: 5,
  averageMs: null,
  ...part,
});

async function csv(rows: Record<string, UsageRowView[]>): Promise<string[]> {
  let text = '';
  const lines = csvOfUsage('day', Object.keys(rows), async (day) => rows[day] ?? []);
  for await (const line of lines) text += line;
  return text.split('\r\n').slice(1, -1);
}

describe('usage as CSV', () => {
  it('has one line for each day, key and model', async () => {
    const lines = await csv({ '2026-11-20': [row({})], '2026-11-21': [row({ averageMs: 7 })] });
    expect(lines).toEqual([
      '2026-11-20,ci,ti_abc,key_1,small,mdl_1,2,1,3,4,5,',
      '2026-11-21,ci,ti_abc,key_1,small,mdl_1,2,1,3,4,5,7',
    ]);
  });

  it.each([
    ['a,b', '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ['=HYPERLINK("x")', `"'=HYPERLINK(""x"")"`],
    ['+1', "'+1"],
    ['@x', "'@x"],
    [' =1', " '=1"],
    ['\uff1d1', "'\uff1d1"],
    ['a;b', '"a;b"'],
    ['a;=1', `"a;'=1"`],
    ['a; -1;+1', `"a; '-1;'+1"`],
    ['a,@x', `"a,'@x"`],
    ['"=1', `"""'=1"`],
    ['a - b = c', 'a - b = c'],
  ])('writes the name %j so that nothing takes it for a formula or another cell', async (key, cell) => {
    expect((await csv({ '2026-11-21': [row({ key })] }))[0]).toContain(`,${cell},`);
  });
});
