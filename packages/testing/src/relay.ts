import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay {
  /** The URL of the server, by way of the relay. */
  readonly url: string;
  /** From now on, nothing passes over the connections that are open now. New ones work. */
  hang(): void;
  close(): Promise<void>;
}

/**
 * Passes connections on to a server until a test hangs them. To stop a process of Postgres instead
 * would hold up all other tests: whoever drops a database waits until every process has taken note.
 */
export async function startRelay(serverUrl: string): Promise<Relay> {
  const target = new URL(serverUrl);
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    const directions: readonly [Socket, Socket][] = [
      [near, far],
      [far, near],
    ];
    for (const [from, to] of directions) {
      open.add(from);
      from.pipe(to);
      from.on('error', () => from.destroy());
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    hang: () => {
      for (const socket of open) socket.unpipe().pause();
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
