import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MAX_CLOSE_MS, stopParsing } from './socket.ts';

/** A reset overtakes bytes in transit, so the last bytes get this long to arrive first. */
const RESET_AFTER_MS = 1_000;

/**
 * Ends an answer that has begun and cannot be completed, in a way that its client notices. What was
 * written is sent. Then the connection is closed without the end of the chunked body. An HTTP/1.0
 * client gets a body without chunks, which any normal close would complete, so its connection is
 * reset.
 *
 * `abandonUnread` bounds the wait for a client that does not read, as for any other answer.
 */
export function breakOff(response: ServerResponse): void {
  const { socket } = response;
  if (socket) close(socket, response.chunkedEncoding);
  // This answer is pipelined behind another one. Once it is given the socket, Node sends what was
  // written right away.
  else response.once('socket', () => queueMicrotask(() => breakOff(response)));
}

function close(socket: Socket, chunked: boolean): void {
  if (socket.destroyed || socket.writableEnded) return;
  stopParsing(socket);
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
