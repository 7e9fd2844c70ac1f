import { afterEach, expect, it } from '@jest/globals';
import { createRedisConnection } from '@tidegate/redis';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { failFast } from '../redis/connection.ts';
import { openStore, PATIENT_MS } from '../testing/fixture.ts';
import { NoticeHub, type PublishedNotice } from './hub.ts';

const options = { ...failFast(PATIENT_MS), retryStrategy: () => null };

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function startRedis(): Promise<TestRedis> {
  const redis = await testRedis();
  ends.push(() => redis.stop());
  return redis;
}

it('notices arrive again if the connection stays open but its server no longer gets messages', async () => {
  const [left, current] = [await startRedis(), await startRedis()];
  const { store, redis } = await openStore(current.url);
  ends.push(() => redis.disconnect());
  const heard: PublishedNotice[] = [];
  let subscriptions = 0;
  const connect = () => {
    const { url } = subscriptions === 0 ? left : current;
    return createRedisConnection(url, options);
  };
  const hub = new NoticeHub({ store, connect, channel: 'tg:notices' });
  hub.onSubscribed(() => subscriptions++);
  hub.listen((notice) => heard.push(notice));
  hub.start();
  ends.push(() => hub.stop());
  await eventually(() => subscriptions === 1);
  const notice = { orgChanged: { orgId: 'org_a' } };
  await eventually(async () => {
    await hub.publish(notice);
    return heard.length > 0;
  });
  expect(heard[0]).toEqual(notice);
  expect(subscriptions).toBe(2);
});

it('a subscription that hears its echoes stays with its server', async () => {
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
  const connect = () => createRedisConnection(current.url, options);
  const hub = new NoticeHub({ store: counting, connect, channel: 'tg:notices' });
  hub.onSubscribed(() => subscriptions++);
  hub.start();
  ends.push(() => hub.stop());
  await eventually(() => published > 4);
  expect(subscriptions).toBe(1);
});

it('lost state is announced under the name that earlier versions of the limiter know', async () => {
  const { url } = await startRedis();
  const { store, redis } = await openStore(url);
  ends.push(() => redis.disconnect());
  const connect = () => createRedisConnection(url, options);
  const hub = new NoticeHub({ store, connect, channel: 'tg:notices' });
  const heard: PublishedNotice[] = [];
  hub.listen((notice) => heard.push(notice));
  const subscribed = new Promise<void>((resolve) => hub.onSubscribed(resolve));
  hub.start();
  ends.push(() => hub.stop());
  const messages: string[] = [];
  const earlier = createRedisConnection(url);
  ends.push(() => earlier.disconnect());
  earlier.on('message', (_channel, message) => messages.push(message));
  await earlier.subscribe('tg:notices');
  await subscribed;

  const notice = { orgStateLost: { orgId: 'org_a' } };
  await hub.publish(notice);
  await eventually(() => heard.length > 0);
  expect(heard).toEqual([notice]);
  await eventually(() => messages.includes('{"orgForgotten":{"orgId":"org_a"}}'));
});
