import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** How much to remember of what a connection's client sent. */
const MAX_REMEMBERED = 16 * 1024;

/** One connection through the proxy. */
export interface Passing {
  /** The beginning of what the client has sent since the last reply, as latin1. */
  readonly asked: string;
}

/**
 * A proxy in front of a server. Its target can change (like a floating address in a failover), its
 * connections can be cut or hang, and data can be held back.
 */
export class TcpProxy {
  /**
   * Called with each reply before it is passed on. False: hold back this reply and all later ones
   * on this connection.
   */
  onReply: (passing: Passing, reply: Buffer) => boolean = () => true;
  /** Hold back everything that clients send. */
  mute = false;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (client) => this.#pass(client));
  }

  /** @param target a port of 127.0.0.1 */
  static async start(target: number): Promise<TcpProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, target);
  }

  /** Returns `url` with this proxy's address. */
  urlFor(url: string): string {
    const through = new URL(url);
    through.host = `127.0.0.1:${this.port}`;
    return through.href;
  }

  /** Changes the target and cuts all connections. */
  redirectTo(target: number): void {
    this.#target = target;
    this.cut();
  }

  /**
   * From now on, nothing passes over the connections that are open now. New ones work. To stop a
   * process of Postgres instead would hold up all other tests: whoever drops a database waits until
   * every process has acknowledged the drop.
   */
  hang(): void {
    for (const socket of this.#sockets) socket.removeAllListeners('data').pause();
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #pass(client: Socket): void {
    const server = connect({ host: '127.0.0.1', port: this.#target });
    let asked = '';
    let held = false;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (data) => {
      if (asked.length < MAX_REMEMBERED) asked += data.toString('latin1', 0, MAX_REMEMBERED);
      if (!this.mute) server.write(data);
    });
    server.on('data', (data) => {
      held ||= !this.onReply({ asked }, data);
      asked = '';
      if (!held) client.write(data);
    });
  }
}
