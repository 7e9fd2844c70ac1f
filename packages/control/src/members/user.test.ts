import { describe, expect, it } from '@jest/globals';
import { ownTestDb } from '@tidegate/testing/hooks';
import { refusal } from '../fixture.ts';
import { findOrCreateUser } from './user.ts';

const db = ownTestDb();

describe('findOrCreateUser', () => {
  it('refuses an account that was deleted since it was known, and creates none without a password', async () => {
    const email = 'gone@example.com';
    const found = await db().$transaction((tx) => findOrCreateUser(tx, Date.now(), email, null));
    expect(refusal(found)).toEqual({
      code: 'conflict',
      message: 'The account of gone@example.com has just been deleted. Try again.',
    });
    expect(await db().user.count({ where: { email } })).toBe(0);
  });
});
