import { expect, it } from '@jest/globals';
import { unreadable } from './unreadable.ts';

it('a date or a number that is half typed is an error in its field, not an empty value', () => {
  const field = (name: string, type: string, badInput: boolean) => ({ name, type, validity: { badInput } });
  const fields = [
    field('expiresOn', 'date', true),
    field('limit', 'number', true),
    field('name', 'text', false),
  ];
  expect(unreadable([...fields, {}])).toEqual([
    { field: 'expiresOn', message: expect.stringContaining('complete date') },
    { field: 'limit', message: 'Enter a number.' },
  ]);
});
