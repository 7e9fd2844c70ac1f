import { expect, it } from '@jest/globals';
import { sentenceOf } from './sentences.ts';

const event = (action: string, details: Record<string, unknown>) =>
  sentenceOf({ id: 'e', at: '2026-11-22T00:00:00Z', actor: 'ctl', target: 't', action, details });

it('an event is described in the words of the screens, without internal names', () => {
  const published = { name: 'm', mode: 'wake_on_request', driver: 'external', contextTokens: 8_192 };
  expect(event('model.publish', { ...published, upstreamKey: true })).toEqual({
    verb: 'Published model',
    subject: 'm',
    settings: [
      { name: 'mode', value: 'wakes on request' },
      { name: 'runs', value: 'at URLs' },
      { name: 'context length', value: '8,192' },
      { name: 'upstream key', value: 'yes' },
    ],
  });
  expect(event('model.change', { name: 'm', changed: ['sleepAfterS', 'urls'] }).settings).toEqual([
    { name: 'changed', value: 'idle time, servers' },
  ]);
});

it('what people did to themselves does not name them twice', () => {
  const own = (action: string, email = 'ada@example.com') => {
    const at = { id: 'e', at: '2026-11-22T00:00:00Z', target: 't' };
    const { verb, subject } = sentenceOf({ ...at, actor: 'ada@example.com', action, details: { email } });
    return `${verb} ${subject}`.trim();
  };
  expect(own('account.signIn')).toBe('Signed in');
  expect(own('account.addPasskey')).toBe('Added a passkey');
  expect(own('member.join')).toBe('Joined');
  expect(own('member.remove')).toBe('Removed member ada@example.com');
  expect(own('account.changePassword', 'bob@example.com')).toBe('Changed the password of bob@example.com');
});

it('whom an invitation was for is left out of what members and viewers see', () => {
  expect(event('member.withdraw', {})).toEqual({
    verb: 'Withdrew the invitation',
    subject: '',
    settings: [],
  });
});

it('a change of role names both roles, and an older event names the one that it has', () => {
  const changed = { email: 'ada@example.com', role: 'owner' };
  expect(event('member.setRole', { ...changed, from: 'member' })).toEqual({
    verb: 'Changed the role of',
    subject: 'ada@example.com',
    settings: [{ name: 'from', value: 'member to owner' }],
  });
  expect(event('member.setRole', changed).settings).toEqual([{ name: 'role', value: 'owner' }]);
});

it('a model keeps its name, whatever it is called', () => {
  const { settings } = event('key.create', { name: 'k', models: ['process', 'driver'], rpm: 6_000 });
  expect(settings).toEqual([
    { name: 'models', value: 'process, driver' },
    { name: 'requests a minute', value: '6,000' },
  ]);
});

it('a time is shown as on the other screens, and a name that looks like a time stays as it is', () => {
  const times = { expiresOn: '2027-03-31', until: '2026-11-23T04:15:39.800Z' };
  expect(event('key.create', { name: '2027-03-31', ...times, prefix: '2027-03-31' })).toEqual({
    verb: 'Created key',
    subject: '2027-03-31',
    settings: [
      { name: 'expires on', value: '31 Mar 2027' },
      { name: 'until', value: '23 Nov 2026, 04:15 UTC' },
      { name: 'prefix', value: '2027-03-31' },
    ],
  });
});
