import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What a client has time for to take the last bytes and close. */
const MAX_CLOSE_MS = 2_000;
/** What the last bytes have time for to arrive, where a reset follows them: it overtakes what is still under way. */
const RESET_AFTER_MS = 1_000;

/**
 * Ends an answer that has begun and cannot be completed, so that its client notices. What was written is sent; then the
 * connection is closed without the end of the chunked body. A body without chunks, as a client of HTTP/1.0 gets it, is ended
 * by any closing: there the connection is reset.
 *
 * A client that does not read is given up like that of any other answer (`giveUpUnread`).
 */
export function breakOff(response: ServerResponse): void {
  const { socket } = response;
  if (socket) close(socket, response.chunkedEncoding);
  // Pipelined behind another one: what was written leaves right after the socket has come.
  else response.once('socket', () => queueMicrotask(() => breakOff(response)));
}

function close(socket: Socket, chunked: boolean): void {
  if (socket.destroyed || socket.writableEnded) return;
  // What still comes is no longer taken for a request, and read: closed on unread bytes a connection is reset.
  socket.removeAllListeners('data').on('data', () => {});
  socket.resume();
  let timer: NodeJS.Timeout | undefined;
  socket.once('close', () => clearTimeout(timer));
  const later = (end: () => void, ms: number) => () => {
    if (!socket.destroyed) timer = setTimeout(end, ms);
  };
  if (chunked) socket.end(later(() => socket.destroy(), MAX_CLOSE_MS));
  else
    socket.write(
      '',
      later(() => socket.resetAndDestroy(), RESET_AFTER_MS),
    );
}
