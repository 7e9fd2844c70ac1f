import { describe, expect, it } from '@jest/globals';
import { whyNoEvents } from './filter.ts';

const refused = (field: string, message: string) => whyNoEvents({ code: 'invalid_input', message, field });

describe('an invalid filter of the audit trail', () => {
  it('by action is explained in one short sentence, without the list of actions', () => {
    const message = 'Action must be a noun (key), for all of its actions, or one of: key.create, key.revoke.';
    expect(refused('action', message)).toBe('No event can have this action.');
  });

  it('by day is explained with the message of the domain', () => {
    const message = 'From must be a day as YYYY-MM-DD.';
    expect(refused('from', message)).toBe(message);
  });
});
