import { afterEach, describe, expect, it } from '@jest/globals';
import { createRedisClient, slotOf } from '@tidegate/redis';
import { eventually } from './eventually.ts';
import { type TestRedis, testRedis, testRedisCluster } from './redis.ts';

let server: TestRedis | undefined;
afterEach(async () => server?.stop());

async function command(url: string, ...args: [string, ...string[]]): Promise<unknown> {
  const client = createRedisClient(url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    await client.connect();
    const [name, ...words] = args;
    return await client.call(name, words);
  } finally {
    if (client.status === 'ready') client.disconnect();
  }
}

describe('testRedis', () => {
  it('keeps its data through kill -9 and restart when it has an append-only file', async () => {
    server = await testRedis({ appendonly: true });
    const [pid = 0] = server.pids;
    await command(server.url, 'SET', 'kept', 'yes');
    await server.kill();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await expect(command(server.url, 'PING')).rejects.toThrow();
    await server.restart();
    expect(server.pids).not.toContain(pid);
    expect(await command(server.url, 'GET', 'kept')).toBe('yes');
  });

  it('starts empty for each caller', async () => {
    server = await testRedis();
    expect(await command(server.url, 'DBSIZE')).toBe(0);
  });
});

describe('testRedisCluster', () => {
  it('shares the slots among three masters, and has a replica take over from one that is killed', async () => {
    const cluster = await testRedisCluster({ replicas: true, nodeTimeoutMs: 5_000 });
    try {
      const key = 'kept';
      expect(await command(cluster.url, 'CLUSTER', 'KEYSLOT', key)).toBe(slotOf(key));
      await command(cluster.url, 'SET', key, 'yes');
      const master = cluster.nodes[Math.floor((slotOf(key) * 3) / 16_384)];
      const replica = cluster.nodes[cluster.nodes.indexOf(master as never) + 3];
      expect(await master?.isMaster()).toBe(true);
      expect(await replica?.isMaster()).toBe(false);
      // A replica has each write a moment later.
      await eventually(async () => (await command(`redis://127.0.0.1:${replica?.port}`, 'DBSIZE')) === 1);
      master?.running.kill('SIGKILL');
      await eventually(() => replica?.isMaster());
      await cluster.whole();
      expect(await command(cluster.url, 'GET', key)).toBe('yes');
      await master?.start();
      await eventually(async () => !(await master?.isMaster()));
    } finally {
      await cluster.stop();
    }
  });
});
