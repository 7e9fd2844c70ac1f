import type { IncomingMessage } from 'node:http';
import { isRefusal, newRefusal, type Passed, type Refusal } from '@tidegate/contracts';
import { MovedPieces } from '../bytes/moved-pieces.ts';
import { Pieces } from '../bytes/pieces.ts';
import type { Aborted, EarlyEnd } from '../ending.ts';

/**
 * How much of one organization's bodies may be read in a turn of the event loop, and how much
 * parsed: this many bytes, or one larger piece.
 */
export const BODY_BYTES_A_TURN = 16 * 1024;

/**
 * A smaller piece counts as this much in its organization's turn: a sender may send one byte at a
 * time, and each piece costs the main thread microseconds.
 */
const MIN_TURN_BYTES = 256;

export interface ReadBodyOptions {
  /**
   * Called once the head gives no reason to refuse the body. The client may be waiting for this
   * (100-continue).
   */
  readonly invite: () => void;
  /** For the whole body, counted from the call. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly largeBytes: number;
  /**
   * Called once, when the body is known to exceed `largeBytes`. Reading pauses until it resolves.
   * `readBody` never resolves before it does. The caller owns what it takes.
   */
  readonly takeLarge: () => Promise<Passed | Refusal>;
  /**
   * Called before each piece is kept. A refusal ends the reading. The caller owns what it claims.
   */
  readonly claim: (bytes: number) => Passed | Refusal;
  /**
   * Called for each piece that is kept, with the bytes that it counts as. Reading pauses until the
   * promise resolves.
   */
  readonly turn: (bytes: number) => Promise<void> | null;
  /**
   * Aborts with the request, for example when the client hangs up. Called only if the body has not
   * fully arrived yet.
   */
  readonly signal: () => AbortSignal;
}

/**
 * A request's body as it arrived. Small pieces are merged. Large pieces are kept as they arrived,
 * because joining them would create garbage on this thread. The pieces of a large body have left
 * this thread's heap, and their owner must call `discard`.
 */
export interface Body {
  readonly pieces: readonly Buffer[] | MovedPieces;
  readonly bytes: number;
}

/**
 * Reads a request's body within its time and size limits, never holding more than `maxBytes`.
 *
 * After a refusal the request is left paused, and whoever answers it reads the rest. Resolves to
 * an abort if the signal aborts or the client hangs up in mid-body. Rejects only if `takeLarge`
 * does.
 */
export function readBody(request: IncomingMessage, options: ReadBodyOptions): Promise<Body | EarlyEnd> {
  return new BodyReader(request, options).read();
}

/** Why the reading ends: the body is complete, or the request ends early. */
type BodyEnd = 'complete' | EarlyEnd;

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #options: ReadBodyOptions;
  readonly #body = new Pieces();
  /** The pieces of a large body. */
  #moved: MovedPieces | null = null;
  #over = false;
  /** How many things the reading is waiting for. */
  #pauses = 0;
  #end: (end: BodyEnd) => void = () => {};
  #fail: (error: unknown) => void = () => {};
  /** Set while `takeLarge` is running. If the reading ends meanwhile, `read` waits for it. */
  #taking: Promise<Passed | Refusal> | null = null;

  constructor(request: IncomingMessage, options: ReadBodyOptions) {
    this.#request = request;
    this.#options = options;
  }

  async read(): Promise<Body | EarlyEnd> {
    const { maxBytes, largeBytes } = this.#options;
    const { headers } = this.#request;
    const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
    if (encoding !== '' && encoding !== 'identity') return ENCODED;
    const transfer = headers['transfer-encoding'];
    if (transfer !== undefined && transfer.trim().toLowerCase() !== 'chunked') return TRANSFER_ENCODED;
    const declared = Number(headers['content-length'] ?? 0);
    if (declared > maxBytes) return tooLarge(maxBytes);
    if (this.#request.destroyed) return HUNG_UP;
    if (declared <= largeBytes) this.#options.invite();
    if (declared > 0 && declared === this.#request.readableLength && declared <= largeBytes)
      return this.#takeBuffered(declared);
    let body: Body | null = null;
    try {
      const end = await this.#untilEnd(declared > largeBytes);
      const taken = await this.#taking;
      if (end !== 'complete') return end;
      // What is buffered completely ends even while the reading pauses.
      if (taken && isRefusal(taken)) return taken;
      body = this.#takeAll();
      return body;
    } finally {
      if (body === null) this.#moved?.discard();
    }
  }

  #takeAll(): Body {
    const { bytes } = this.#body;
    const pieces = this.#body.takePieces();
    const moved = this.#moved;
    if (!moved) return { pieces, bytes };
    for (const piece of pieces) moved.add(piece);
    return { pieces: moved, bytes };
  }

  /** Takes a body that arrived together with its head, as most do. It needs no listeners. */
  #takeBuffered(bytes: number): Body | Refusal {
    const claimed = this.#options.claim(bytes);
    if (isRefusal(claimed)) return claimed;
    const body: Buffer = this.#request.read();
    this.#request.resume();
    return { pieces: [body], bytes };
  }

  async #untilEnd(declaredLarge: boolean): Promise<BodyEnd> {
    const request = this.#request;
    const { timeoutMs } = this.#options;
    const signal = this.#options.signal();
    if (signal.aborted) return HUNG_UP;
    const abort = (): void => this.#end(HUNG_UP);
    const complete = (): void => this.#end('complete');
    const data = (chunk: Buffer): void => this.#take(chunk);
    const timer = setTimeout(() => this.#end(tooLate(timeoutMs)), timeoutMs);
    try {
      return await new Promise<BodyEnd>((resolve, reject) => {
        this.#end = resolve;
        this.#fail = reject;
        signal.addEventListener('abort', abort);
        request.on('error', abort).on('close', abort).on('end', complete);
        if (declaredLarge) this.#pauseToTakeLarge();
        request.on('data', data);
      });
    } finally {
      this.#over = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      // The listener of 'error' stays: an error that is already on its way would throw without it.
      request.off('close', abort).off('end', complete).off('data', data).pause();
    }
  }

  #take(chunk: Buffer): void {
    const { maxBytes, largeBytes, claim } = this.#options;
    const fits = this.#body.bytes + chunk.length <= maxBytes;
    const claimed = fits ? claim(chunk.length) : tooLarge(maxBytes);
    if (isRefusal(claimed)) {
      this.#end(claimed);
      return;
    }
    const { length } = chunk;
    this.#body.add(chunk);
    if (this.#body.bytes > largeBytes) this.#pauseToTakeLarge();
    if (this.#moved) for (const piece of this.#body.takeLarge()) this.#moved.add(piece);
    const turn = this.#options.turn(Math.max(MIN_TURN_BYTES, length));
    if (turn) this.#pauseForTurn(turn);
  }

  #pauseForTurn(turn: Promise<void>): void {
    this.#pause();
    void turn.then(() => this.#resume());
  }

  #pauseToTakeLarge(): void {
    if (this.#moved) return;
    this.#moved = new MovedPieces();
    this.#pause();
    this.#taking = this.#options.takeLarge();
    this.#taking.then(
      (taken) => {
        if (isRefusal(taken)) this.#end(taken);
        else {
          if (!this.#over) this.#options.invite();
          this.#resume();
        }
      },
      (error) => this.#fail(error),
    );
  }

  #pause(): void {
    this.#pauses++;
    this.#request.pause();
  }

  #resume(): void {
    this.#pauses--;
    if (this.#pauses === 0 && !this.#over) this.#request.resume();
  }
}

/** The result for an unfinished body. Whoever aborted the signal may know a better reason. */
export const HUNG_UP: Aborted = { kind: 'aborted', reason: 'client_closed' };

const ENCODED = newRefusal({
  code: 'invalid_request',
  message: 'Content-Encoding must be absent or identity: compressed bodies are not accepted.',
});

const TRANSFER_ENCODED = newRefusal({
  code: 'invalid_request',
  message: 'Transfer-Encoding must be absent or chunked: compressed bodies are not accepted.',
});

const tooLarge = (maxBytes: number): Refusal =>
  newRefusal({
    code: 'request_too_large',
    message: `The body must be at most ${maxBytes} bytes (${maxBytes / 2 ** 20} MiB).`,
  });

const tooLate = (timeoutMs: number): Refusal =>
  newRefusal({
    code: 'request_timeout',
    message: `The whole body must arrive within ${timeoutMs / 1_000} seconds.`,
  });
