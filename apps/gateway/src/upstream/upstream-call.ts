import type { Dispatcher } from 'undici';
import { Pieces } from '../bytes/pieces.ts';
import type { AbortReason, CallOutcome } from './outcome.ts';
import { refusalOfStatus, upstreamError } from './refused.ts';

/** What is read of the body of an error answer. */
const MAX_ERROR_BYTES = 64 * 1024;

const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export const NO_ANSWER_IN_TIME = upstreamError('The model did not answer in time.');
export const FAILED = upstreamError('The model failed to answer.');
export const UNREADABLE = upstreamError('The model sent an answer that cannot be read.');

/** Nothing else was asked for. */
const isPlain = (encoding: unknown): boolean =>
  encoding === undefined || encoding === '' || encoding === 'identity';

/**
 * One call to a replica, as undici tells of it. Ends exactly once, in `outcome`, and then leaves nothing running: the
 * connection is closed unless the answer was read to its end.
 */
export abstract class UpstreamCall implements Dispatcher.DispatchHandler {
  /** Rejects with what is a fault of ours. */
  readonly outcome: Promise<CallOutcome>;
  protected controller: Dispatcher.DispatchController | null = null;
  #resolve!: (outcome: CallOutcome) => void;
  #reject!: (error: unknown) => void;
  #ended = false;
  #answered = false;
  #errorStatus = 0;
  readonly #errorBody = new Pieces();
  readonly #timer: NodeJS.Timeout;

  /** @param timeoutMs for all of the answer */
  constructor(timeoutMs: number) {
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = setTimeout(() => this.expire(), timeoutMs);
  }

  /** The answer with status 200, piece by piece. */
  protected abstract onBody(bytes: Buffer): void;
  /** It is over. */
  protected abstract onBodyEnd(): void;
  /** It broke off. */
  protected abstract onBroken(): void;
  /** It took longer than allowed. */
  protected abstract onTimeout(): void;

  abort(reason: AbortReason): void {
    this.end({ kind: 'aborted', reason });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.#ended) this.close();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, unknown>>,
  ): void {
    if (status < 200 || this.#ended) return;
    this.#answered = true;
    if (status !== 200) this.#errorStatus = status;
    if (isPlain(headers['content-encoding'])) return;
    if (status === 200) this.end({ kind: 'refused', refusal: UNREADABLE });
    else this.#endWithStatus();
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#ended) return;
    try {
      if (this.#errorStatus === 0) this.onBody(bytes);
      else this.#onErrorBody(bytes);
    } catch (error) {
      this.#fault(error);
    }
  }

  #onErrorBody(bytes: Buffer): void {
    this.#errorBody.add(bytes);
    if (this.#errorBody.bytes > MAX_ERROR_BYTES) this.#endWithStatus();
  }

  onResponseEnd(): void {
    this.controller = null;
    if (this.#ended) return;
    try {
      if (this.#errorStatus === 0) this.onBodyEnd();
      else this.#endWithStatus();
    } catch (error) {
      this.#fault(error);
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.controller = null;
    if (this.#ended) return;
    const connected = !NOT_CONNECTED.has((error as NodeJS.ErrnoException).code ?? '');
    if (!this.#answered) this.end({ kind: 'unreached', connected });
    else if (this.#errorStatus === 0) this.onBroken();
    else this.#endWithStatus();
  }

  /** A time is over. Where the status has said already what is wrong, the rest of its explanation is not waited for. */
  protected expire(): void {
    if (this.#errorStatus === 0) this.onTimeout();
    else this.#endWithStatus();
  }

  protected get ended(): boolean {
    return this.#ended;
  }

  /** Only the first end counts. `keep`: the answer is being read to its end. */
  protected end(outcome: CallOutcome, keep = false): void {
    if (this.#stop(keep)) this.#resolve(outcome);
  }

  /** Undici would swallow it, and the request wait for its time to be over. */
  #fault(error: unknown): void {
    if (this.#stop(false)) this.#reject(error);
  }

  /** False: it had ended before. */
  #stop(keep: boolean): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    if (!keep) this.close();
    return true;
  }

  protected close(): void {
    this.controller?.abort(new Error('the answer is of no more use'));
    this.controller = null;
  }

  #endWithStatus(): void {
    const body = this.#errorBody.take().toString('utf8', 0, MAX_ERROR_BYTES);
    this.end({ kind: 'refused', refusal: refusalOfStatus(this.#errorStatus, body) });
  }
}
