import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { freePort } from './ports.ts';

describe('freePort', () => {
  it('gives ports that can be listened on at once, below the range of outgoing connections', async () => {
    const ports = await Promise.all(Array.from({ length: 10 }, freePort));
    for (const port of ports) {
      expect(port).toBeLessThan(32_768);
      const server = createServer();
      await new Promise<void>((resolve, reject) =>
        server.once('error', reject).listen(port, '127.0.0.1', resolve),
      );
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
