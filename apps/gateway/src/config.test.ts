import { describe, expect, it } from '@jest/globals';
import { readConfig } from './config.ts';
import { createResolve } from './images/resolve.ts';

const NEEDED = { LIMITER_ADDRESSES: 'limiter:7100', RUNNER_ADDRESS: 'runner:7200' };

describe('readConfig', () => {
  it('has the time limits of the contract by default [limit.body] [limit.cold-start] [limit.stream.always-on] [limit.stream.wake-on-request] [limit.whole-answer]', () => {
    expect(readConfig(NEEDED)).toMatchObject({
      BODY_TIMEOUT_MS: 30_000,
      COLD_START_MS: 60_000,
      WHOLE_ANSWER_TIMEOUT_MS: 120_000,
      FIRST_EVENT_TIMEOUT_MS: 120_000,
      STREAM_PAUSE_MS: 60_000,
      STREAM_MAX_ALWAYS_ON_MS: 600_000,
      STREAM_MAX_WAKE_ON_REQUEST_MS: 300_000,
      IMAGE_TIMEOUT_MS: 10_000,
    });
  });

  it('allows no network and has no name servers by default', () => {
    expect(readConfig(NEEDED)).toMatchObject({ IMAGE_ALLOWED_NETWORKS: [], IMAGE_NAME_SERVERS: [] });
  });

  it('accepts networks and name servers in the form that look-ups need', () => {
    const config = readConfig({
      ...NEEDED,
      IMAGE_ALLOWED_NETWORKS: '10.20.0.0/16, fd00:1::/32',
      IMAGE_NAME_SERVERS: '192.0.2.1, 192.0.2.1:5353,2001:db8::1,[2001:db8::1]:53',
    });
    expect(config.IMAGE_ALLOWED_NETWORKS).toEqual(['10.20.0.0/16', 'fd00:1::/32']);
    expect(config.IMAGE_NAME_SERVERS).toHaveLength(4);
    const ended = AbortSignal.abort(new Error('ended'));
    return expect(createResolve(config.IMAGE_NAME_SERVERS)('a.example', ended)).rejects.toThrow('ended');
  });

  it.each([
    ['IMAGE_ALLOWED_NETWORKS', '10.20.0.0'],
    ['IMAGE_ALLOWED_NETWORKS', '10.20.0.0/33'],
    ['IMAGE_ALLOWED_NETWORKS', '10.20.0.0/16 10.21.0.0/16'],
    ['IMAGE_NAME_SERVERS', 'dns.example'],
    ['IMAGE_NAME_SERVERS', '192.0.2'],
    ['IMAGE_NAME_SERVERS', '192.0.2.1:'],
    ['IMAGE_NAME_SERVERS', '192.0.2.1:99999'],
    ['IMAGE_NAME_SERVERS', '[192.0.2.1]:53'],
    ['IMAGE_NAME_SERVERS', '192.0.2.1,'],
  ])('refuses %s=%s', (variable, value) => {
    expect(() => readConfig({ ...NEEDED, [variable]: value })).toThrow(variable);
  });
});
