import { describe, expect, it } from '@jest/globals';
import { countKeys, fullness } from './fullness.ts';

const RULES = { mostKeys: 3, perOrg: { total: 1_000 } };

describe('the limits on the number of keys', () => {
  it.each([
    [{ valid: 1, total: 949 }, false, null],
    [{ valid: 2, total: 2 }, false, 'room for one more key on the plan Free'],
    [{ valid: 3, total: 3 }, true, 'The plan Free has room for 3 keys'],
    [{ valid: 3, total: 4 }, true, 'all are in use: revoke one, or change the plan'],
    [{ valid: 4, total: 4 }, true, '4 are in use: revoke keys, or change the plan'],
    [{ valid: 1, total: 950 }, false, 'There are 950 keys, revoked ones included; the ceiling is 1,000'],
    [{ valid: 1, total: 1_000 }, true, 'delete revoked ones to create another'],
  ])(
    'are announced before they are reached: with %j, creating a key is blocked (%s), and the note is %j',
    (count, blocked, message) => {
      const told = fullness({ ...count, plan: 'Free' }, RULES);
      expect(told.blocked).toBe(blocked);
      if (message === null) expect(told.message).toBeNull();
      else expect(told.message).toContain(message);
    },
  );

  it('are named in the singular on a plan of one key', () => {
    const note = (valid: number) => fullness({ valid, total: valid, plan: 'One' }, { ...RULES, mostKeys: 1 });
    expect(note(1).message).toMatch(/room for 1 key that is not revoked, and it is in use: revoke it, or/);
    expect(note(2).message).toMatch(/room for 1 key that is not revoked, and 2 are in use: revoke keys, or/);
  });

  it('count neither revoked keys nor expired page keys as in use', () => {
    const [nowMs, past, later] = [
      Date.UTC(2026, 10, 21),
      '2026-11-21T00:00:00.000Z',
      '2026-11-21T00:00:01.000Z',
    ];
    const keys = [
      ...(['Active', 'Expired', 'Revoked'] as const).map((state) => ({ state, expiresAt: null })),
      { state: 'Active', expiresAt: later } as const,
      ...(['Expired', 'Revoked'] as const).map((state) => ({ state, expiresAt: past })),
    ];
    expect(countKeys(keys, nowMs)).toEqual({ valid: 3, total: 4 });
  });
});
