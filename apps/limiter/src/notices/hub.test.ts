import { afterEach, expect, it } from '@jest/globals';
import { createRedisConnection } from '@tidegate/redis';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { FAIL_FAST } from '../redis/connection.ts';
import { openStore } from '../testing/fixture.ts';
import { NoticeHub, type Told } from './hub.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function startRedis(): Promise<TestRedis> {
  const redis = await testRedis();
  ends.push(() => redis.stop());
  return redis;
}

it('notices are heard again when what the subscription is with lives on, but nobody publishes there any more', async () => {
  const [left, current] = [await startRedis(), await startRedis()];
  const { store, redis } = await openStore(current.url);
  ends.push(() => redis.disconnect());
  const heard: Told[] = [];
  let subscriptions = 0;
  const connect = () => {
    const { url } = subscriptions === 0 ? left : current;
    return createRedisConnection(url, { ...FAIL_FAST, retryStrategy: () => null });
  };
  const hub = new NoticeHub({ store, connect, channel: 'tg:notices' });
  hub.onSubscribed(() => subscriptions++);
  hub.listen((told) => heard.push(told));
  hub.start();
  ends.push(() => hub.stop());
  await eventually(() => subscriptions === 1);
  const told = { orgChanged: { orgId: 'org_a' } };
  await eventually(async () => {
    await hub.tell(told);
    return heard.length > 0;
  });
  expect(heard[0]).toEqual(told);
  expect(subscriptions).toBe(2);
});

it('a subscription that hears what is published is left alone', async () => {
  const current = await startRedis();
  const { store, redis } = await openStore(current.url);
  ends.push(() => redis.disconnect());
  let subscriptions = 0;
  let published = 0;
  const counting = {
    commandAt: (...args: Parameters<typeof store.commandAt>) => {
      published++;
      return store.commandAt(...args);
    },
  } as typeof store;
  const connect = () => createRedisConnection(current.url, { ...FAIL_FAST, retryStrategy: () => null });
  const hub = new NoticeHub({ store: counting, connect, channel: 'tg:notices' });
  hub.onSubscribed(() => subscriptions++);
  hub.start();
  ends.push(() => hub.stop());
  await eventually(() => published > 4);
  expect(subscriptions).toBe(1);
});
