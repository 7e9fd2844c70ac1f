import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { Cluster } from 'ioredis';
import { createRedisClient, type RedisClient } from './client.ts';
import { explainRedis } from './explain.ts';

const PASSWORD = 'not-to-be-shown';
let redis: TestRedis;
let admin: RedisClient;

beforeEach(async () => {
  redis = await testRedis();
  admin = createRedisClient(redis.url);
  admin.on('error', () => {});
  await eventually(() => admin.status === 'ready');
});
afterEach(async () => {
  admin.disconnect();
  await redis.stop();
});

const everywhere = (command: string, ...args: string[]): Promise<unknown> =>
  Promise.all(
    (admin instanceof Cluster ? admin.nodes() : [admin]).map((node) => node.call(command, ...args)),
  );

const as = (login: string, url = redis.url): string => url.replace('://', `://${login}@`);

/** The outcome of a command and the client's errors meanwhile, as sentences. */
async function sentencesAt(url: string): Promise<string[]> {
  const client = createRedisClient(url, {
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: 60_000,
  });
  const errors: unknown[] = [];
  client.on('error', (error) => errors.push(error));
  if (client instanceof Cluster) client.on('node error', (error) => errors.push(error));
  await client.get('one').catch((error) => errors.push(error));
  client.disconnect();
  expect(errors.map(String).join()).not.toContain(PASSWORD);
  return errors.map(explainRedis).filter((sentence) => sentence !== null);
}

describe('why Redis cannot be used is explained in a sentence that names the cause', () => {
  it('a wrong password, and none', async () => {
    await everywhere('config', 'set', 'requirepass', 'right');
    expect(await sentencesAt(as(`:${PASSWORD}`))).toContain(
      'Redis refuses the user or the password in REDIS_URL.',
    );
    expect(await sentencesAt(redis.url)).toContain('Redis asks for a password, and REDIS_URL has none.');
  });

  it("no connection, and a lost one, without mention of the client's options", async () => {
    const client = createRedisClient(redis.url, { maxRetriesPerRequest: 0, enableOfflineQueue: false });
    client.on('error', () => {});
    const sentences = async (failing: Promise<unknown>) => failing.then(() => '', explainRedis);
    expect(await sentences(client.get('one'))).toBe('There is no connection to Redis.');
    await eventually(() => client.status === 'ready');
    const waits = sentences(client.blpop('never', 0));
    await eventually(async () => String(await everywhere('client', 'list')).includes('cmd=blpop'));
    await everywhere('client', 'kill', 'type', 'normal');
    expect(await waits).toBe('The connection to Redis was lost.');
    client.disconnect();
    for (const code of ['ECONNRESET', 'EPIPE'])
      expect(explainRedis(Object.assign(new Error(`write ${code}`), { code }))).toBe(
        'The connection to Redis was lost.',
      );
  });

  it('a user without the permission', async () => {
    await everywhere('acl', 'setuser', 'someone', 'on', `>${PASSWORD}`, '+@connection', '+cluster', '+info');
    expect(await sentencesAt(as(`someone:${PASSWORD}`))).toContain(
      'The user in REDIS_URL lacks a permission.',
    );
  });

  it.each([
    ['ERR max number of clients reached', undefined, /takes no more connections/],
    ['self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT', /over TLS/],
    [
      "Socket timeout. Expecting data, but didn't receive any in 5000ms.",
      undefined,
      /did not answer in time/,
    ],
    ['getaddrinfo ENOTFOUND redis', 'ENOTFOUND', /does not answer/],
  ])('%s', (message, code, expected) => {
    const error = Object.assign(new Error(message), { code });
    expect(explainRedis(new Error('Connection is closed.', { cause: error }))).toMatch(expected);
  });

  it('nothing at the address', async () => {
    expect(await sentencesAt('redis://127.0.0.1:1')).toContain('Redis does not answer at 127.0.0.1:1.');
  });

  it('a name without an address', async () => {
    expect(await sentencesAt('redis://nowhere.invalid')).toContain(
      'The Redis host nowhere.invalid has no address.',
    );
  });
});

it('an error about something else is not explained', () => {
  for (const error of [new Error('boom'), 'boom', undefined]) expect(explainRedis(error)).toBeNull();
});
