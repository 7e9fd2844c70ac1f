import { expect, it } from '@jest/globals';
import { sentenceOf } from './sentences.ts';

const event = (action: string, details: Record<string, unknown>) =>
  sentenceOf({ id: 'e', at: '2026-11-22T00:00:00Z', actor: 'ctl', target: 't', action, details });

it('an event is told in the words of the screens, without internal names', () => {
  const published = { name: 'm', mode: 'wake_on_request', driver: 'external', contextTokens: 8_192 };
  expect(event('model.publish', { ...published, upstreamKey: true })).toEqual({
    ...{ verb: 'Published model', subject: 'm' },
    settings: [
      { name: 'mode', value: 'wakes on request' },
      { name: 'runs', value: 'at URLs' },
      { name: 'context length', value: '8,192' },
      { name: 'key for the servers', value: 'yes' },
    ],
  });
  expect(event('model.change', { name: 'm', changed: ['sleepAfterS', 'urls'] }).settings).toEqual([
    { name: 'changed', value: 'idle time, servers' },
  ]);
});

it('a model keeps its name, whatever it is called', () => {
  const { settings } = event('key.create', { name: 'k', models: ['process', 'driver'], rpm: 6_000 });
  expect(settings).toEqual([
    { name: 'models', value: 'process, driver' },
    { name: 'requests a minute', value: '6,000' },
  ]);
});
