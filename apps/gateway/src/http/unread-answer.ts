import type { ServerResponse } from 'node:http';

/**
 * Bounds how long a finished, settled answer may wait for a client that does not read it. The
 * connection is closed after `timeoutMs` without progress. An answer that is sent immediately is
 * unaffected.
 */
export function abandonUnread(response: ServerResponse, timeoutMs: number): void {
  if (response.writableLength === 0 || response.destroyed) return;
  const { socket } = response;
  if (!socket) {
    // This answer is pipelined behind another one and gets the socket later.
    response.once('socket', () => abandonUnread(response, timeoutMs));
    return;
  }
  socket.setTimeout(timeoutMs);
  // Runs before Node sets the timeout of an idle connection. An answer pipelined behind this one
  // sets its own.
  response.prependOnceListener('finish', () => socket.setTimeout(0));
}
