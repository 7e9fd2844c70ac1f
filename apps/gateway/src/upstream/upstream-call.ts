import type { Dispatcher } from 'undici';
import { Pieces } from '../bytes/pieces.ts';
import type { Aborted } from '../ending.ts';
import type { CallOutcome } from './call-outcome.ts';
import { refusalOfStatus, UNREADABLE, upstreamError } from './refused.ts';

/** How much of an error answer's body is read. */
const MAX_ERROR_BYTES = 64 * 1024;

export const NO_ANSWER_IN_TIME = upstreamError('The model did not answer in time.');

/**
 * Memory for what a call has received and cannot pass on yet. `holdAnswer` sets how much that is,
 * and returns false if there is no room for it.
 */
export interface AnswerMemory {
  holdAnswer(bytes: number): boolean;
}

export const AMPLE_MEMORY: AnswerMemory = { holdAnswer: () => true };

/** The answer must not be compressed: the request asks for an uncompressed one. */
const isPlain = (encoding: unknown): boolean =>
  encoding === undefined || encoding === '' || encoding === 'identity';

/**
 * One call to a replica, driven by undici's callbacks. It ends exactly once, with `outcome`, and
 * leaves nothing running. The connection is closed unless the answer was read to its end.
 */
export abstract class UpstreamCall implements Dispatcher.DispatchHandler {
  /** Rejects only if the gateway itself failed. */
  readonly outcome: Promise<CallOutcome>;
  /** Never quoted to the caller. Empty for none. */
  protected readonly upstreamKey: string;
  protected readonly memory: AnswerMemory;
  protected controller: Dispatcher.DispatchController | null = null;
  #resolve!: (outcome: CallOutcome) => void;
  #reject!: (error: unknown) => void;
  #ended = false;
  #status = 0;
  readonly #errorBody = new Pieces();
  readonly #timer: NodeJS.Timeout;

  /** @param timeoutMs for the whole answer */
  constructor(timeoutMs: number, upstreamKey: string, memory: AnswerMemory) {
    this.upstreamKey = upstreamKey;
    this.memory = memory;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = setTimeout(() => this.expire(), timeoutMs);
  }

  /** Receives a piece of an answer with status 200. */
  protected abstract onBody(bytes: Buffer): void;
  /** An answer with status 200 is complete. */
  protected abstract onBodyEnd(): void;
  /** An answer with status 200 broke off. */
  protected abstract onBroken(): void;
  /** The answer took longer than allowed. */
  protected abstract onTimeout(): void;

  /** The status of the replica's answer. 0: none yet. */
  get status(): number {
    return this.#status;
  }

  /** Whether the replica answered with a status other than 200. */
  get #failed(): boolean {
    return this.#status !== 0 && this.#status !== 200;
  }

  abort(aborted: Aborted): void {
    this.end(aborted);
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
    this.#status = status;
    if (isPlain(headers['content-encoding'])) return;
    if (status === 200) this.end(UNREADABLE);
    else this.#endWithStatus();
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#ended) return;
    try {
      if (this.#failed) this.#onErrorBody(bytes);
      else this.onBody(bytes);
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
      if (this.#failed) this.#endWithStatus();
      else this.onBodyEnd();
    } catch (error) {
      this.#fault(error);
    }
  }

  onResponseError(): void {
    // A request starts only once there is a connection to send it over.
    const connected = this.controller !== null;
    this.controller = null;
    if (this.#ended) return;
    if (this.#status === 0) this.end({ kind: 'unreached', connected });
    else if (this.#failed) this.#endWithStatus();
    else this.onBroken();
  }

  /**
   * A timeout has expired. If an error status has already arrived, the rest of its explanation is
   * not awaited.
   */
  protected expire(): void {
    if (this.#failed) this.#endWithStatus();
    else this.onTimeout();
  }

  protected get ended(): boolean {
    return this.#ended;
  }

  /** Only the first end counts. `keep`: the answer is being read to its end. */
  protected end(outcome: CallOutcome, keep = false): void {
    if (this.#stop(keep)) this.#resolve(outcome);
  }

  /**
   * Rejects the outcome. Undici would swallow the error, and the request would wait for its
   * timeout.
   */
  #fault(error: unknown): void {
    if (this.#stop(false)) this.#reject(error);
  }

  /** Returns false if the call had ended before. */
  #stop(keep: boolean): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    if (!keep) this.close();
    return true;
  }

  protected close(): void {
    this.controller?.abort(new Error('the answer is no longer needed'));
    this.controller = null;
  }

  #endWithStatus(): void {
    const body = this.#errorBody.take().toString('utf8', 0, MAX_ERROR_BYTES);
    this.end(refusalOfStatus(this.#status, body, this.upstreamKey));
  }
}
