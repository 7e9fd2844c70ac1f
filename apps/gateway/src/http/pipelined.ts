import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Far more than a client that pipelines has unanswered. */
const MAX_PIPELINED = 64;
const waiting = new WeakMap<Socket, number>();

/**
 * Ends the connection if too many of its requests are unanswered. Returns true if it has ended:
 * then the request must not be handled. Node begins all requests that it has read. Without a bound,
 * 2 MB of them from one connection would make one turn of the event loop take seconds.
 */
export function rejectExcessPipelining({ socket }: IncomingMessage, response: ServerResponse): boolean {
  if (response.socket) return false;
  // Node's parser continues to the end of what was read.
  if (socket.destroyed) return true;
  const count = (waiting.get(socket) ?? 0) + 1;
  waiting.set(socket, count);
  if (count > MAX_PIPELINED) {
    socket.destroy();
    return true;
  }
  response.once('socket', () => waiting.set(socket, (waiting.get(socket) ?? 1) - 1));
  return false;
}
