import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** A connection of Node's HTTP server. */
export type HttpSocket = Duplex & {
  readonly remoteAddress?: string | undefined;
  readonly bytesRead?: number;
  /** Node's property for the answer that has the connection now. Other answers wait behind it. */
  _httpMessage?: ServerResponse | null;
};

/** How long a client may take to receive the last bytes and close. */
export const MAX_CLOSE_MS = 2_000;

/**
 * Reads what still arrives, but no longer parses it as requests. Closing a socket with unread bytes
 * would reset the connection, and what was written last would be lost.
 */
export function stopParsing(socket: Duplex): void {
  socket.removeAllListeners('data').on('data', () => {});
}
