import { describe, expect, it } from '@jest/globals';
import { parseRedisUrl, RedisUrlError, redisUrl } from './url.ts';

describe('a Redis URL', () => {
  it('of one server is left as it is', () => {
    for (const url of [
      'redis://127.0.0.1:6379',
      'rediss://user:p%40ss@redis.example:6380/3',
      'redis://[::1]:6379',
    ])
      expect(parseRedisUrl(url)).toEqual({ kind: 'single', url });
  });

  it('of a cluster names some of its nodes, how to log in, and TLS', () => {
    expect(parseRedisUrl('redis+cluster://10.0.0.1:7000,redis-2.example,[fd00::3]:7002')).toEqual({
      kind: 'cluster',
      addresses: [
        { host: '10.0.0.1', port: 7_000 },
        { host: 'redis-2.example', port: 6_379 },
        { host: 'fd00::3', port: 7_002 },
      ],
      tls: false,
      login: {},
    });
    expect(parseRedisUrl('rediss+cluster://app:p%3Aw%40@a:1')).toMatchObject({
      login: { username: 'app', password: 'p:w@' },
      tls: true,
    });
  });

  it('of Sentinels names the master, its database, and both logins', () => {
    expect(
      parseRedisUrl('redis+sentinel://:secret@s1,s2:26380/main/2?sentinelUsername=u&sentinelPassword=p'),
    ).toEqual({
      kind: 'sentinel',
      addresses: [
        { host: 's1', port: 26_379 },
        { host: 's2', port: 26_380 },
      ],
      name: 'main',
      db: 2,
      tls: false,
      login: { password: 'secret' },
      sentinelLogin: { username: 'u', password: 'p' },
    });
  });

  it('that cannot be read is refused with a reason that shows no part of it', () => {
    const reasons = {
      'http://hunter2': /redis:\/\/, redis\+sentinel/,
      'redis://hunter2:1,hunter2:2': /to name several addresses/,
      'redis://hunter2:99999': /is not a URL/,
      'redis+cluster://hunter2:0': /addresses as host:port/,
      'redis+cluster://hunter2:1,': /addresses as host:port/,
      'redis+cluster://hunter2:1/4': /must not name a database/,
      'redis://:hunter2@2@a:1': /percent-encoded/,
      'rediss+cluster://:hunter2#@a:1': /percent-encoded/,
      'redis://': /names no host/,
      'redis+cluster://%hunter2@a:1': /percent-encoding/,
      'redis://:100%hunter2@a:1': /percent-encoding/,
      'redis+sentinel://hunter2:1': /the master's name/,
    };
    for (const [url, reason] of Object.entries(reasons)) {
      expect(() => parseRedisUrl(url)).toThrow(RedisUrlError);
      const [issue] = redisUrl.safeParse(url).error?.issues ?? [];
      expect(issue?.message).toMatch(reason);
      expect(issue?.message).not.toContain('hunter2');
    }
  });
});
