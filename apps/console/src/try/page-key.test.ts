import { describe, expect, it } from '@jest/globals';
import { PageKey } from './page-key.ts';

function fixture() {
  const ended: string[] = [];
  let made = 0;
  const key = new PageKey({
    create: async () => {
      made += 1;
      return { ok: true, value: { id: `key_${made}`, key: `ti_${made}` } };
    },
    end: (id) => ended.push(id),
  });
  return { key, ended, made: () => made };
}

const value = (text: string) => ({ ok: true, value: text });

describe('the key of a page', () => {
  it('is created once, with the first request, however many need it', async () => {
    const { key, made } = fixture();
    expect(made()).toBe(0);
    expect(await Promise.all([key.get(), key.get()])).toEqual([value('ti_1'), value('ti_1')]);
    expect(await key.get()).toEqual(value('ti_1'));
    expect(made()).toBe(1);
  });

  it('ends once, with the page, and a page that is shown again creates another', async () => {
    const { key, ended } = fixture();
    key.end();
    await key.get();
    key.end();
    key.end();
    expect(ended).toEqual(['key_1']);
    expect(await key.get()).toEqual(value('ti_2'));
  });

  it('that arrives after the page was left ends immediately', async () => {
    const { key, ended } = fixture();
    const asked = key.get();
    key.end();
    await asked;
    expect(ended).toEqual(['key_1']);
  });

  it('that was refused is replaced, and a later one is not dropped for it', async () => {
    const { key } = fixture();
    await key.get();
    expect(key.drop('ti_1')).toBe(true);
    expect(await key.get()).toEqual(value('ti_2'));
    key.drop('ti_1');
    expect(await key.get()).toEqual(value('ti_2'));
  });

  it('that could not be created is asked for again with the next request', async () => {
    let full = true;
    const refused = { ok: false, refusal: { code: 'limit_reached', message: 'full' } } as const;
    const made = { ok: true, value: { id: 'key_1', key: 'ti_1' } } as const;
    const key = new PageKey({ create: async () => (full ? refused : made), end: () => {} });
    expect(await key.get()).toEqual(refused);
    full = false;
    expect(await key.get()).toEqual(value('ti_1'));
  });
});
