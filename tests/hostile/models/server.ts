import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The model's side of one request, with full control over bytes and timing. */
export interface Wire {
  /** Resolves when the bytes have been written. False: the caller is gone. */
  write(bytes: string | Uint8Array): Promise<boolean>;
  /** False: the caller hung up during the pause. */
  pause(ms: number): Promise<boolean>;
  /** Closes the connection properly. */
  end(): void;
  /** Closes it with a RST. */
  reset(): void;
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>;
  /** The request's body as received. */
  readonly body: string;
}

/**
 * How the model answers one request. When it returns, the model takes the next request on the
 * connection.
 */
export type Play = (wire: Wire) => undefined | Promise<unknown>;

export interface Connection {
  /** The plays requested on it, oldest first. */
  readonly plays: string[];
  closed: boolean;
}

/** More than any request of these tests. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** Lists no names, which means that the server answers to every name. */
const MODELS = '{}';
const ALIVE = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${MODELS.length}\r\n\r\n${MODELS}`;

/** The content of the first message, which names the play. */
export const playing = (name: string) => `play ${name}`;

/**
 * A model server on bare sockets, because an HTTP library would prevent misbehaviour. Each request
 * names the play it gets. The server remembers which plays were requested on which connection.
 */
export class HostileModel {
  readonly connections: Connection[] = [];
  readonly #plays = new Map<string, Play>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  static async start(): Promise<HostileModel> {
    const model = new HostileModel();
    model.#server.listen(0, '127.0.0.1');
    await once(model.#server, 'listening');
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stage(name: string, play: Play): void {
    this.#plays.set(name, play);
  }

  /** The connections on which the play was requested. */
  visits(name: string): Connection[] {
    return this.connections.filter(({ plays }) => plays.includes(name));
  }

  /** How often the play was requested. */
  calls(name: string): number {
    return this.connections.reduce(
      (sum, { plays }) => sum + plays.filter((played) => played === name).length,
      0,
    );
  }

  /** Stops the server and ends all connections. Idempotent. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(socket: Socket): void {
    const connection: Connection = { plays: [], closed: false };
    this.#sockets.add(socket);
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => {
        this.#sockets.delete(socket);
        connection.closed = true;
        resolve();
      });
    });
    socket.on('error', () => {});
    this.#serve(socket, connection, closed).catch(() => socket.destroy());
  }

  async #serve(socket: Socket, connection: Connection, closed: Promise<void>): Promise<void> {
    const requests = new RequestReader(socket);
    for (;;) {
      const request = await requests.next(closed);
      if (!request) return;
      if (request.method !== 'POST') {
        socket.end(ALIVE);
        return;
      }
      const name = nameIn(request.body);
      if (connection.plays.length === 0) this.connections.push(connection);
      connection.plays.push(name);
      const play = this.#plays.get(name);
      if (!play) throw new Error(`no play is called ${name}`);
      await play(createWire(socket, closed, request.body));
    }
  }
}

function nameIn(body: string): string {
  const { messages } = JSON.parse(body) as { messages: { content: string }[] };
  return (messages[0]?.content ?? '').slice(playing('').length);
}

function createWire(socket: Socket, closed: Promise<void>, body: string): Wire {
  const gone = closed.then(() => false);
  return {
    body,
    closed,
    write: (bytes) => {
      if (socket.destroyed) return gone;
      const left = new Promise<boolean>((resolve) => socket.write(bytes, (error) => resolve(!error)));
      return Promise.race([left, gone]);
    },
    pause: (ms) => Promise.race([sleep(ms, true), gone]),
    end: () => socket.end(),
    reset: () => socket.resetAndDestroy(),
  };
}

interface RawRequest {
  readonly method: string;
  readonly body: string;
}

/**
 * Reads the requests of a connection one after the other. The gateway sends each whole, with its
 * content-length.
 */
class RequestReader {
  #received = '';
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (text: unknown) => {
      this.#received += text as string;
      if (this.#received.length > MAX_REQUEST_BYTES) socket.destroy();
      this.#wake();
    });
  }

  /** Null: there will be no more. */
  async next(closed: Promise<void>): Promise<RawRequest | null> {
    let open = true;
    void closed.then(() => {
      open = false;
      this.#wake();
    });
    for (;;) {
      const request = this.#take();
      if (request || !open) return request;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(): RawRequest | null {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return null;
    const head = this.#received.slice(0, headEnd);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const end = headEnd + 4 + length;
    if (this.#received.length < end) return null;
    const body = Buffer.from(this.#received.slice(headEnd + 4, end), 'latin1').toString();
    this.#received = this.#received.slice(end);
    return { method: head.slice(0, head.indexOf(' ')), body };
  }
}
