import type { ServerResponse } from 'node:http';
import type { HttpSocket } from './socket.ts';

/** The first bytes of every answer. */
const STATUS_LINE_START = 'HTTP/1.1 ';
/**
 * Longer than most round trips. The pauses grow, so that the last byte is sent after the time limit
 * of a whole answer.
 */
const FIRST_PAUSE_MS = 50;
const PAUSE_FACTOR = 3;

/**
 * Probes whether a client that closed its half of the connection still reads. A client that is gone
 * has closed its half in the same way: TCP tells the two apart only by what happens to the next
 * bytes. So this sends the client, one at a time, bytes that its answer contains anyway: those of
 * the status line before the answer has begun, then leading zeros of the next chunk's size. See
 * docs/adr/0010.
 */
export function probeHalfClosed(socket: HttpSocket): void {
  // Node's own listener runs first. It has already closed a connection with no request in progress.
  socket.once('end', () => {
    if (socket.writable) new HalfClosedProbe(socket).probe();
  });
}

class HalfClosedProbe {
  readonly #socket: HttpSocket;
  readonly #write: HttpSocket['write'];
  /** The last answer of which Node has sent anything. */
  #begun: ServerResponse | null;
  /** How many bytes of the beginning of the next answer have been sent already. */
  #sentAhead = 0;
  #probes = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: HttpSocket) {
    this.#socket = socket;
    this.#write = socket.write.bind(socket);
    const answer = socket._httpMessage;
    this.#begun = answer?.headersSent ? answer : null;
    socket.write = ((bytes: string | Uint8Array, ...more: []) =>
      this.#write(this.#withoutSentAhead(bytes), ...more)) as HttpSocket['write'];
    socket.once('close', () => clearTimeout(this.#timer));
  }

  /**
   * If the client is gone, the first byte makes its kernel reset the connection. Sending the second
   * byte reveals the reset.
   */
  readonly probe = (): void => {
    const answer = this.#socket._httpMessage;
    if (!answer || !this.#socket.writable || this.#probes === STATUS_LINE_START.length) return;
    if (answer !== this.#begun) this.#write(STATUS_LINE_START.charAt(this.#sentAhead++));
    else if (answer.chunkedEncoding && !answer.writableEnded) this.#write('0');
    this.#probes++;
    this.#timer = setTimeout(this.probe, this.#pauseMs);
    this.#pauseMs *= PAUSE_FACTOR;
  };

  /**
   * Cuts off what was sent ahead. The first bytes that Node writes of an answer are its head, alone
   * or with what follows.
   */
  #withoutSentAhead(bytes: string | Uint8Array): string | Uint8Array {
    const answer = this.#socket._httpMessage ?? null;
    if (answer === this.#begun) return bytes;
    const from = this.#sentAhead;
    this.#begun = answer;
    this.#sentAhead = 0;
    return typeof bytes === 'string' ? bytes.slice(from) : bytes.subarray(from);
  }
}
