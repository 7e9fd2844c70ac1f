import { createServer, type Server } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { FreePorts, freePort } from './ports.ts';

const listen = (port: number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve(server));
  });
const close = (server: Server) => new Promise((resolve) => server.close(resolve));

describe('freePort', () => {
  it('gives ports that can be listened on at once, below the range of outgoing connections', async () => {
    const ports = await Promise.all(Array.from({ length: 10 }, freePort));
    for (const port of ports) {
      expect(port).toBeLessThan(32_768);
      await close(await listen(port));
    }
  });
});

describe('FreePorts', () => {
  /**
   * Above the range from which all other servers of the tests take their ports. Each test has a
   * range of its own, because marks outlive a test.
   */
  const unusedPort = (from: number) => from + Math.floor(Math.random() * 300);

  it('gives no port twice, whoever asks, even if nothing listens on it yet', async () => {
    const first = unusedPort(32_000);
    const [one, other] = [new FreePorts(first, 4), new FreePorts(first, 4)];
    const given = new Set<number>();
    const takers = [one, other, one, other, one, other];
    for (const taker of takers) {
      const port = await taker.take().catch(() => null);
      if (port === null) continue;
      expect(given).not.toContain(port);
      given.add(port);
    }
    expect(given.size).toBeGreaterThan(1);
    await expect(other.take()).rejects.toThrow(/No free port/);
  });

  it('passes over a port that something listens on', async () => {
    const port = unusedPort(32_400);
    const server = await listen(port);
    try {
      await expect(new FreePorts(port, 1).take()).rejects.toThrow(/No free port/);
    } finally {
      await close(server);
    }
    expect(await new FreePorts(port, 1).take()).toBe(port);
  });
});
