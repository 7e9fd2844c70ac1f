import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How every answer begins, whatever it is. */
const BEGINNING = 'HTTP/1.1 ';
/** As long as most ways there and back. The last byte is sent after the time of a whole answer. */
const FIRST_PAUSE_MS = 50;
const PAUSE_FACTOR = 3;

type HttpSocket = Socket & {
  /** Node's name for the answer that has the connection now; others wait behind it. */
  _httpMessage?: ServerResponse | null;
};

/**
 * Asks a client that closes its half of the connection whether it still reads. One that is gone
 * has closed it in the same way: TCP tells the two apart only by what becomes of the next bytes. So
 * the client is sent, one at a time, bytes that its answer has anyway: those of the status line
 * before the answer has begun, then leading zeros of the next chunk's size. See docs/adr/0010.
 */
export function askHalfClosed(socket: Socket): void {
  // After Node's own listener, which has closed a connection without a request under way.
  socket.once('end', () => {
    if (socket.writable) new HalfClosed(socket).ask();
  });
}

class HalfClosed {
  readonly #socket: HttpSocket;
  readonly #write: Socket['write'];
  /** The last answer of which something was sent by Node. */
  #begun: ServerResponse | null;
  /** How much of the next answer's beginning has been sent here. */
  #sentAhead = 0;
  #asked = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: HttpSocket) {
    this.#socket = socket;
    this.#write = socket.write.bind(socket);
    const answer = socket._httpMessage;
    this.#begun = answer?.headersSent ? answer : null;
    socket.write = ((bytes: string | Uint8Array, ...more: []) =>
      this.#write(this.#withoutSentAhead(bytes), ...more)) as Socket['write'];
    socket.once('close', () => clearTimeout(this.#timer));
  }

  /**
   * The first byte makes the kernel of a client that is gone reset the connection; sending the
   * second one finds that out.
   */
  readonly ask = (): void => {
    const answer = this.#socket._httpMessage;
    if (!answer || !this.#socket.writable || this.#asked === BEGINNING.length) return;
    if (answer !== this.#begun) this.#write(BEGINNING.charAt(this.#sentAhead++));
    else if (answer.chunkedEncoding && !answer.writableEnded) this.#write('0');
    this.#asked++;
    this.#timer = setTimeout(this.ask, this.#pauseMs);
    this.#pauseMs *= PAUSE_FACTOR;
  };

  /** The first that Node writes of an answer is its head, alone or with what follows. */
  #withoutSentAhead(bytes: string | Uint8Array): string | Uint8Array {
    const answer = this.#socket._httpMessage ?? null;
    if (answer === this.#begun) return bytes;
    const from = this.#sentAhead;
    this.#begun = answer;
    this.#sentAhead = 0;
    return typeof bytes === 'string' ? bytes.slice(from) : bytes.subarray(from);
  }
}
