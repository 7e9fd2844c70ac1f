import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestRedis, testRedis } from '@tidegate/testing';
import { Redis } from 'ioredis';
import { openStore, type TestStore } from '../testing/fixture.ts';
import { EncodedCommand, Outgoing } from './encoded.ts';

/** Fewer than the most that a pipeline takes. */
const BATCH = 30;

let redis: TestRedis;
let opened: TestStore;

beforeAll(async () => {
  redis = await testRedis({ cluster: false });
  opened = await openStore(redis.url);
});

afterAll(async () => {
  opened.redis.disconnect();
  await redis.stop();
});

describe('what is sent to Redis', () => {
  it('arrives as it was given: empty, with line breaks, beyond ASCII, as numbers', async () => {
    const args = ['', 'a\r\nb', '$5\r\n', 'höher 🌊', 0, -1, 1.5, Number.MAX_SAFE_INTEGER];
    expect(await opened.store.commandAt(null, 'eval', 'return ARGV', 0, ...args)).toEqual(args.map(String));
  });

  it('leaves in one write for all commands of one turn, and each command gets its reply', async () => {
    if (!(opened.redis instanceof Redis)) throw new Error('this is a cluster');
    const { stream } = opened.redis;
    const { write } = stream;
    const writes: unknown[] = [];
    stream.write = ((text: string) => {
      writes.push(text);
      return write.call(stream, text);
    }) as typeof write;
    const asked = Array.from({ length: BATCH }, (_, i) => `command ${i}`);
    try {
      const replies = asked.map((text) => opened.store.commandAt(null, 'echo', text));
      expect(await Promise.all(replies)).toEqual(asked);
    } finally {
      stream.write = write;
    }
    expect(writes).toHaveLength(1);
  });

  it('includes a command that ioredis kept back until the batch had left', async () => {
    if (!(opened.redis instanceof Redis)) throw new Error('this is a cluster');
    const outgoing = new Outgoing(opened.redis);
    outgoing.flush();
    const command = new EncodedCommand('echo', ['late']);
    opened.redis.sendCommand(command, outgoing);
    expect(await command.promise).toBe('late');
  });

  it('gets its own reply, even beside a command that Redis refuses', async () => {
    const replies = await Promise.allSettled(
      ['first', null, 'last'].map((text) =>
        text === null ? opened.store.commandAt(null, 'nonsense') : opened.store.commandAt(null, 'echo', text),
      ),
    );
    expect(replies).toMatchObject([{ value: 'first' }, { reason: { reason: 'redis' } }, { value: 'last' }]);
  });
});

it('the error of a command without a connection says so, and nothing about streams', async () => {
  const { store, redis: client } = await openStore(redis.url);
  client.disconnect();
  const failed = store.commandAt(null, 'echo', 'x');
  await expect(failed).rejects.toThrow('redis: echo failed: there is no connection');
});
