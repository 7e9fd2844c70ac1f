import { describe, expect, it } from '@jest/globals';
import { PAGE_KEYS } from '@tidegate/contracts';
import type { UsageRowView } from '@tidegate/control';
import { keyChoices } from '../requests/key-name.ts';
import { optionsOf } from './options.ts';

const row = (part: Partial<UsageRowView>) =>
  ({
    keyId: 'key_a',
    key: 'Laptop',
    keyPrefix: 'ti_a',
    modelId: 'mod_a',
    model: 'm',
    ...part,
  }) as UsageRowView;
const ROWS = [
  row({}),
  row({ keyId: 'key_gone', key: 'A deleted key', keyPrefix: null, modelId: 'mod_b', modelDeleted: true }),
  row({ keyId: PAGE_KEYS, key: 'Try it', keyPrefix: null }),
];
const chosenOf = (keyId: string, unused: string | null | undefined) => {
  const { keys } = optionsOf(ROWS, { keyId, modelId: '' }, { key: unused });
  return keys.find(({ id }) => id === keyId)?.text;
};

describe('the choices of keys and models on the usage page', () => {
  it('are every key and model of the rows', () => {
    const { keys, models } = optionsOf(ROWS, { keyId: '', modelId: '' }, {});
    expect(keys.map(({ text }) => text)).toEqual([
      'All keys',
      'Laptop · ti_a…',
      'A deleted key (…gone)',
      'Try it',
    ]);
    expect(models.map(({ text }) => text)).toEqual(['All models', 'm', 'm (deleted)']);
  });

  it('include what the address names, under its name if it exists', () => {
    expect(chosenOf('key_a', undefined)).toBe('Laptop · ti_a…');
    expect(chosenOf('key_unused', 'CI · ti_b…')).toBe('CI · ti_b…');
    expect(chosenOf('nope', null)).toBe('No such key');
    const { models } = optionsOf(ROWS, { keyId: '', modelId: 'nope' }, { model: null });
    expect(models.at(-1)).toEqual({ id: 'nope', text: 'No such model' });
  });
});

describe('the keys by which requests are filtered', () => {
  const key = { id: 'key_a', name: 'Laptop', prefix: 'ti_a' };
  const page = { id: `${PAGE_KEYS}_0123456789abcdef`, name: 'Try it', prefix: 'ti_p' };

  it('are one for all page keys, and one for a page key that is chosen', () => {
    const all = [
      { id: 'key_a', name: 'Laptop · ti_a…' },
      { id: PAGE_KEYS, name: 'Try it' },
    ];
    expect(keyChoices([key, page])).toEqual(all);
    expect(keyChoices([key, page], 'key_a')).toEqual(all);
    expect(keyChoices([key, page], page.id)).toEqual([...all, { id: page.id, name: 'Try it (…cdef)' }]);
  });
});
