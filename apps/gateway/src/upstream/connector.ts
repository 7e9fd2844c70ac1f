import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/**
 * Connects as undici does by itself, and keeps undici 7 from ending the process: if an answer ends
 * with its connection and that ends while the answer is not being read, undici throws from its
 * listener. Undici 8 does not, but needs Node 22. Also has undici skip a `100 Continue` that it did
 * not ask for.
 */
export function createConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  // Otherwise Node closes the connection as soon as the server has ended its half, although the
  // answer may still have to be read. Undici closes it by itself.
  const connect = buildConnector({ ...options, allowHalfOpen: true });
  return (target, callback) =>
    connect(target, (...result) => {
      const [, socket] = result;
      if (socket) guardListeners(socket);
      callback(...result);
    });
}

/** Guards the next listeners for an error and for the end, which are those of undici's parser. */
function guardListeners(socket: Socket): void {
  const { on } = socket;
  const add = on.bind(socket) as (event: string, listener: Listener) => Socket;
  socket.on = (event: string, listener: Listener) => {
    if (event === 'error') return add(event, asError(socket, listener));
    if (event !== 'end') return add(event, listener);
    // Undici adds and removes others with each request.
    socket.on = on;
    skipContinue(socket);
    return add(event, whenRead(socket, listener));
  };
}

type Listener = (...args: never[]) => void;

/** Undici's parser of answers. */
interface Parser {
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number;
}

/**
 * Clients must expect a `100 Continue` at any time (RFC 9110, 15.2), but undici takes it for a bad
 * answer. It skips all other interim answers, so its parser is told of another one.
 */
function skipContinue(socket: Socket): void {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
  const parser = symbol && (socket as unknown as Record<symbol, Parser | null>)[symbol];
  if (!parser) return;
  const onHeadersComplete = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, upgrade, keepAlive) =>
    onHeadersComplete(status === 100 ? 102 : status, upgrade, keepAlive);
}

/** If the answer is not being read, its end is reported once it is. */
function whenRead(socket: Socket, listener: Listener): () => void {
  const report = () => {
    if (socket.destroyed) return;
    try {
      listener.call(socket);
    } catch {
      afterNextRead(socket, report);
    }
  };
  return report;
}

/** Undici reads when the reader of the answer has caught up. */
function afterNextRead(socket: Socket, then: () => void): void {
  const { read } = socket;
  socket.read = (size) => {
    socket.read = read;
    process.nextTick(then);
    return read.call(socket, size);
  };
}

/** Undici takes some resets for the end of the answer. One that it cannot end is broken off. */
function asError(socket: Socket, listener: (error: never) => void): Listener {
  return (error: NodeJS.ErrnoException) => {
    try {
      listener.call(socket, error as never);
    } catch {
      error.code = 'UND_ERR_SOCKET';
      listener.call(socket, error as never);
    }
  };
}
