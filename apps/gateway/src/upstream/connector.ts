import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

/**
 * Connects as undici does by default, but keeps undici 7 from ending the process. If a server ends
 * an answer by closing the connection, and nobody is reading the answer at that moment, undici 7
 * throws from its socket listener. Undici 8 does not, but needs Node 22.
 */
export function createConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  // Otherwise Node closes the connection as soon as the server has ended its half, even if part of
  // the answer is still unread. Undici closes the connection itself.
  const connect = buildConnector({ ...options, allowHalfOpen: true });
  return (target, callback) =>
    connect(target, (...result) => {
      const [, socket] = result;
      if (socket) guardListeners(socket);
      callback(...result);
    });
}

/** Wraps the `error` and `end` listeners that undici's parser adds next. */
function guardListeners(socket: Socket): void {
  const { on } = socket;
  const add = on.bind(socket) as (event: string, listener: Listener) => Socket;
  socket.on = (event: string, listener: Listener) => {
    if (event === 'error') return add(event, asError(socket, listener));
    if (event !== 'end') return add(event, listener);
    // Listeners that undici adds with each request stay as they are, because it removes them again.
    socket.on = on;
    return add(event, whenRead(socket, listener));
  };
}

type Listener = (...args: never[]) => void;

/** Reports the end of an answer, but waits while nobody is reading the answer. */
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

/** Undici takes some resets for the end of the answer. If that throws, the answer breaks off. */
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
