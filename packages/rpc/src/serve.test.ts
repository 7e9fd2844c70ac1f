import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, jest } from '@jest/globals';
import type { LimiterHandlers } from './generated/index.ts';
import { serveLimiter } from './serve.ts';

it('a taken port rejects, and grpc-js prints no line of its own', async () => {
  const print = jest.spyOn(console, 'error').mockImplementation(() => {});
  const taken = createServer().listen(0, '127.0.0.1');
  try {
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const serving = serveLimiter({
      host: '127.0.0.1',
      port,
      handlers: {} as LimiterHandlers,
      trust: { tokens: [], tls: null },
      log: { warn: () => {} },
      channelOptions: {},
    });
    await expect(serving).rejects.toThrow(/EADDRINUSE/);
    expect(print).not.toHaveBeenCalled();
  } finally {
    print.mockRestore();
    taken.close();
  }
});
