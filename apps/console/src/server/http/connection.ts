import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Browsers and proxies do not pipeline requests. */
const MAX_PIPELINED = 16;
const behind = new WeakMap<Socket, number>();

/**
 * Resolves once all earlier requests of the same connection are answered. Node begins them all at
 * once, so one packet could ask for thousands of screens. Never resolves if the connection ends
 * first. Too many requests end it.
 */
export function nextOnConnection({ socket }: IncomingMessage, response: ServerResponse): Promise<void> {
  if (response.socket) return Promise.resolve();
  const count = (behind.get(socket) ?? 0) + 1;
  behind.set(socket, count);
  if (count > MAX_PIPELINED) socket.destroy();
  return new Promise((resolve) => {
    response.once('socket', () => {
      behind.set(socket, (behind.get(socket) ?? 1) - 1);
      resolve();
    });
  });
}

/**
 * Drops the rest of a body once its request is answered. Whoever began to read it may have stopped,
 * as the framework does on an error. Then Node would read nothing more from the connection, and the
 * next request on it, which may be another person's behind a proxy, would get no answer.
 */
export function dropRest(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  response.once('finish', () => {
    if (request.complete) return;
    request.push = () => true;
    socket.resume();
  });
}
