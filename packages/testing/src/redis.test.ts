import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { type TestRedis, testRedis } from './redis.ts';

let server: TestRedis | undefined;
afterEach(async () => server?.stop());

async function command(url: string, ...args: [string, ...string[]]): Promise<unknown> {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.call(...args);
  } finally {
    if (client.status === 'ready') client.disconnect();
  }
}

describe('testRedis', () => {
  it('keeps its data through kill -9 and restart when it has an append-only file', async () => {
    server = await testRedis({ appendonly: true });
    const { pid } = server;
    await command(server.url, 'SET', 'kept', 'yes');
    await server.kill();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(command(server.url, 'PING')).rejects.toThrow();
    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect(await command(server.url, 'GET', 'kept')).toBe('yes');
  });

  it('starts empty for each caller', async () => {
    server = await testRedis();
    expect(await command(server.url, 'DBSIZE')).toBe(0);
  });
});
