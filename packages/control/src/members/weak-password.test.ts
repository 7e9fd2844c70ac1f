import { describe, expect, it } from '@jest/globals';
import { weakPassword } from './weak-password.ts';

const about = { email: 'ada.lovelace@analytical-engines.example', orgs: ['Another', 'Engine Works'] };

describe('a password', () => {
  it.each([
    ['is common', 'baseball'],
    ['is common in another case', 'BaseBall'],
    ['is common in full-width letters, which its hash does not tell apart', 'ｂａｓｅｂａｌｌ'],
    ['is common with digits or signs after it', 'Sunshine2026!'],
    ['is a sequence of digits', '1234567890'],
    ['is the e-mail', about.email],
    ['is the name in the e-mail', 'AdaLovelace'],
    ['is a part of the name in the e-mail', 'lovelace1815'],
    ['is the host in the e-mail', 'Analytical-Engines!'],
    ['is the name of the organization', 'engine works 1'],
    ['is the name of the product', 'tidegate1'],
  ])('that %s is refused: %s', async (_what, password) => {
    expect(await weakPassword(password, about, 'next')).toEqual({
      field: 'next',
      message: expect.stringContaining('too easy to guess'),
    });
  });

  it.each([
    'a-long-enough-password',
    'correct horse',
    'lovelace-4711-47',
    '        ',
    'eis zapfen',
    'длинныйпароль',
  ])('that is none of these is accepted: %s', async (password) => {
    expect(await weakPassword(password, about)).toBeNull();
  });
});
