import { EventEmitter } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '@tidegate/runtime';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { Redis } from 'ioredis';
import { PATIENT_MS } from '../testing/fixture.ts';
import { ConnectedServers } from './connected-servers.ts';
import { createRedisLink } from './link.ts';
import { Store } from './store.ts';

const USERS = {
  limited: ['+@all', '-wait'],
  silent: ['+@all', '-info'],
};

let redis: TestRedis;
let operator: Redis;

beforeAll(async () => {
  redis = await testRedis({ cluster: false });
  operator = new Redis(redis.url);
  for (const [name, rules] of Object.entries(USERS))
    await operator.acl('SETUSER', name, 'on', 'nopass', '~*', '&*', ...rules);
});
afterAll(async () => {
  operator.disconnect();
  await redis.stop();
});

/** What a limiter's link finds out, and logs, about the server, and what a read then answers. */
async function found(minReplicas: number, user?: keyof typeof USERS) {
  await operator.config('SET', 'min-replicas-to-write', minReplicas);
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) > 0 };
  const logger = createLogger({ service: 'limiter', level: 'info', destination });
  const url = user ? redis.url.replace('//', `//${user}:any@`) : redis.url;
  const link = createRedisLink(url, PATIENT_MS, logger);
  link.open();
  try {
    await eventually(() => link.ready());
    const [server] = link.shards.all() as [Redis];
    const awaitsReplica = link.shards.awaitsReplica(server);
    // It has no replica, so a read that awaited one would have no answer.
    const read = awaitsReplica ? null : await new Store({ shards: link.shards }).command('exists', 'x');
    const logged = lines.map((line) => JSON.parse(line)).map(({ level, msg }) => ({ level, msg }));
    return { awaitsReplica, read, logged };
  } finally {
    link.close();
  }
}

const available = expect.objectContaining({ msg: 'Redis is available' });

describe('a server', () => {
  it('that does not say whether it requires replicas is not used, and its connection is replaced', async () => {
    const server = Object.assign(new EventEmitter(), {
      status: 'ready',
      info: () => Promise.reject(new Error('BUSY Redis is busy running a script.')),
      disconnect: jest.fn<Redis['disconnect']>(),
    });
    const connected: Redis[] = [];
    const servers = new ConnectedServers((one) => connected.push(one));
    servers.watch(server as unknown as Redis);
    server.emit('ready');
    await eventually(() => server.disconnect.mock.calls.length > 0);
    expect(server.disconnect.mock.calls).toEqual([[true]]);
    expect(servers.has(server as unknown as Redis)).toBe(false);
    expect(connected).toEqual([]);
  });

  it('that requires replicas has its answers confirmed by one', async () => {
    expect(await found(1)).toEqual({ awaitsReplica: true, read: null, logged: [available] });
  });

  it('that requires none is not asked for a replica', async () => {
    expect(await found(0)).toEqual({ awaitsReplica: false, read: 0, logged: [available] });
  });

  it('whose user may not run WAIT still answers, and the log says which permission is missing', async () => {
    expect(await found(1, 'limited')).toEqual({
      awaitsReplica: false,
      read: 0,
      logged: [available, { level: 'warn', msg: expect.stringContaining('+wait') }],
    });
  });

  it('whose user may not run INFO still answers', async () => {
    // ioredis says so, too.
    jest.spyOn(console, 'warn').mockReturnValueOnce();
    expect(await found(1, 'silent')).toEqual({ awaitsReplica: false, read: 0, logged: [available] });
  });
});
