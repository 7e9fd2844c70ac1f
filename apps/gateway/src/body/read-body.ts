import type { IncomingMessage } from 'node:http';
import type { Refusal } from '@tidegate/contracts';
import { Pieces } from '../bytes/pieces.ts';

export interface ReadBodyOptions {
  /** For the whole body, from the call on. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly largeBytes: number;
  /**
   * Called once, when the body is known to be over `largeBytes`; nothing more is read until it answers. The caller owns what
   * it takes, and it is always awaited before `readBody` resolves.
   */
  readonly takeLarge: () => Promise<Refusal | null>;
  /** Asked for each piece before it is kept; a refusal ends the reading. The caller owns what it claims. */
  readonly claim: (bytes: number) => Refusal | null;
  /** The client is gone, or nobody waits any more. Asked for only if there is something to wait for. */
  readonly signal: () => AbortSignal;
}

export type BodyRead =
  | { readonly ok: true; readonly body: Buffer }
  | { readonly ok: false; readonly aborted: false; readonly refusal: Refusal }
  /** The client hung up before its body was complete: there is nobody to answer. */
  | { readonly ok: false; readonly aborted: true };

/**
 * Reads a request's body, within its limits of time and size, never holding more than `maxBytes` of it. The body has an
 * ArrayBuffer of its own from 4 KiB up, unless it came in one piece. After a refusal the
 * request is left paused; whoever answers it reads the rest off. Rejects only if `takeLarge` does.
 */
export function readBody(request: IncomingMessage, options: ReadBodyOptions): Promise<BodyRead> {
  return new BodyReader(request, options).read();
}

/** What ends the reading: the body's end, or one of the reasons to stop. */
type End = 'complete' | 'too_large' | 'too_late' | 'aborted' | Refusal;

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #options: ReadBodyOptions;
  readonly #body = new Pieces();
  #large = false;
  #end: (end: End) => void = () => {};
  #fail: (error: unknown) => void = () => {};
  /** Set while `takeLarge` is asked; what ends the reading meanwhile waits for it. */
  #taking: Promise<Refusal | null> | null = null;

  constructor(request: IncomingMessage, options: ReadBodyOptions) {
    this.#request = request;
    this.#options = options;
  }

  async read(): Promise<BodyRead> {
    const { maxBytes, largeBytes } = this.#options;
    const encoding = this.#request.headers['content-encoding']?.trim().toLowerCase() ?? '';
    if (encoding !== '' && encoding !== 'identity') return refused(ENCODED);
    const declared = Number(this.#request.headers['content-length'] ?? 0);
    if (declared > maxBytes) return refused(tooLarge(maxBytes));
    if (this.#request.destroyed) return ABORTED;
    if (declared > 0 && declared === this.#request.readableLength && declared <= largeBytes)
      return this.#takeBuffered(declared);
    const end = await this.#untilEnd(declared > largeBytes);
    await this.#taking;
    if (end === 'complete') return { ok: true, body: this.#body.take() };
    if (end === 'aborted') return ABORTED;
    if (end === 'too_large') return refused(tooLarge(maxBytes));
    if (end === 'too_late') return refused(tooLate(this.#options.timeoutMs));
    return refused(end);
  }

  /** Most bodies are there with their head: nothing is to be listened for. */
  #takeBuffered(bytes: number): BodyRead {
    const refusal = this.#options.claim(bytes);
    if (refusal) return refused(refusal);
    const body = this.#request.read() as Buffer;
    this.#request.resume();
    return { ok: true, body };
  }

  async #untilEnd(declaredLarge: boolean): Promise<End> {
    const request = this.#request;
    const { timeoutMs } = this.#options;
    const signal = this.#options.signal();
    if (signal.aborted) return 'aborted';
    const abort = (): void => this.#end('aborted');
    const complete = (): void => this.#end('complete');
    const data = (chunk: Buffer): void => this.#take(chunk);
    // An 'error' precedes the 'close' of a connection that broke; a listener must be there for it.
    const timer = setTimeout(() => this.#end('too_late'), timeoutMs);
    try {
      return await new Promise<End>((resolve, reject) => {
        this.#end = resolve;
        this.#fail = reject;
        signal.addEventListener('abort', abort);
        request.on('error', abort).on('close', abort).on('end', complete);
        if (declaredLarge) this.#pauseToTakeLarge();
        request.on('data', data);
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      request.off('close', abort).off('end', complete).off('data', data).pause();
    }
  }

  #take(chunk: Buffer): void {
    const { maxBytes, largeBytes, claim } = this.#options;
    const tooMuch = this.#body.bytes + chunk.length > maxBytes ? 'too_large' : claim(chunk.length);
    if (tooMuch !== null) {
      this.#end(tooMuch);
      return;
    }
    this.#body.add(chunk);
    if (this.#body.bytes > largeBytes) this.#pauseToTakeLarge();
  }

  #pauseToTakeLarge(): void {
    if (this.#large) return;
    this.#large = true;
    this.#request.pause();
    this.#taking = this.#options.takeLarge();
    this.#taking.then(
      (refusal) => {
        if (refusal === null) this.#request.resume();
        else this.#end(refusal);
      },
      (error) => this.#fail(error),
    );
  }
}

const ABORTED: BodyRead = { ok: false, aborted: true };

const refused = (refusal: Refusal): BodyRead => ({ ok: false, aborted: false, refusal });

const ENCODED: Refusal = {
  code: 'invalid_request',
  message: 'Content-Encoding must be absent or identity: the body is taken uncompressed.',
};

const tooLarge = (maxBytes: number): Refusal => ({
  code: 'request_too_large',
  message: `The body must have at most ${maxBytes} bytes (${maxBytes / 2 ** 20} MiB).`,
});

const tooLate = (timeoutMs: number): Refusal => ({
  code: 'request_timeout',
  message: `The whole body must arrive within ${timeoutMs / 1_000} seconds.`,
});
