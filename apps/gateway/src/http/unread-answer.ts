import type { ServerResponse } from 'node:http';

/**
 * Bounds how long an answer that is over, and settled, may wait for a client that does not read it: without any progress for
 * `timeoutMs`, its connection is closed. One that leaves at once is left alone.
 */
export function giveUpUnread(response: ServerResponse, timeoutMs: number): void {
  if (response.writableLength === 0 || response.destroyed) return;
  const { socket } = response;
  if (!socket) {
    // Pipelined behind another one: its turn comes with the socket.
    response.once('socket', () => giveUpUnread(response, timeoutMs));
    return;
  }
  socket.setTimeout(timeoutMs);
  // Before Node sets the time of an idle connection: what is pipelined behind has its own.
  response.prependOnceListener('finish', () => socket.setTimeout(0));
}
