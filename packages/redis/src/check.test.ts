import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { freePort, testRedis } from '@tidegate/testing';
import { checkRedis } from './check.ts';

const ENOUGH_MS = 10_000;

it.each([true, false])('the check tells whether Redis keeps an append-only file: %s', async (appendonly) => {
  const redis = await testRedis({ appendonly });
  try {
    expect(await checkRedis(redis.url, ENOUGH_MS)).toEqual({ appendOnly: appendonly, tooOld: null });
  } finally {
    await redis.stop();
  }
});

it.each([
  ['redis://me:hidden@', '', /^connect ECONNREFUSED 127\.0\.0\.1:\d+$/],
  ['redis+cluster://me:hidden@', '', /^no server answers$/],
  ['redis+sentinel://me:hidden@', '/main', /^no server answers$/],
])('the check reports that nothing answers at %s…', async (before, after, message) => {
  const refused = checkRedis(`${before}127.0.0.1:${await freePort()}${after}`, ENOUGH_MS);
  await expect(refused).rejects.toMatchObject({
    name: 'RedisCheckError',
    message: expect.stringMatching(message),
  });
});

it('the check reports a wrong password, without showing it', async () => {
  const redis = await testRedis({});
  try {
    const refused = checkRedis(redis.url.replace('://', '://nobody:hidden@'), ENOUGH_MS);
    await expect(refused).rejects.toThrow(/WRONGPASS/);
    await expect(refused).rejects.not.toThrow('hidden');
  } finally {
    await redis.stop();
  }
});

it('the check gives up on a server that accepts connections but does not answer', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  try {
    await expect(checkRedis(`redis://127.0.0.1:${port}`, 100)).rejects.toThrow('no answer within 100 ms');
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
  }
});
