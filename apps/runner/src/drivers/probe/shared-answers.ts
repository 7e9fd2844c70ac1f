import { type Get, type GetRequest, type GetResponse, get, type NoAnswer } from './get.ts';

/** What a path for POST alone answers to a GET. That will not change soon. */
const NO_GET = 405;

interface Shared {
  readonly answer: Promise<GetResponse | NoAnswer>;
  readonly ended: AbortController;
  askers: number;
}

/**
 * Asks servers on behalf of models that share them, as many models of one Ollama do. Whoever asks
 * the same thing within `freshMs` gets the same answer. A server that does not answer, or refuses,
 * is asked again each time, so that its recovery is noticed as soon as without sharing.
 */
export class SharedAnswers {
  readonly #freshMs: number;
  readonly #get: Get;
  readonly #known = new Map<string, Shared>();

  constructor(freshMs: number, ask: Get = get) {
    this.#freshMs = freshMs;
    this.#get = ask;
  }

  /** As `get`. A request ends when all who wait for it have aborted. */
  async get(request: GetRequest, signal: AbortSignal): Promise<GetResponse | NoAnswer> {
    if (signal.aborted) return this.#get(request, signal);
    // Nobody learns what a server answers to another key.
    const id = `${request.url} ${request.key ?? ''}`;
    const shared = this.#known.get(id) ?? this.#ask(id, request);
    shared.askers++;
    const leave = () => {
      if (--shared.askers > 0) return;
      this.#forget(id, shared);
      shared.ended.abort();
    };
    signal.addEventListener('abort', leave);
    try {
      return await shared.answer;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #ask(id: string, request: GetRequest): Shared {
    const ended = new AbortController();
    const shared = { answer: this.#get(request, ended.signal), ended, askers: 0 };
    this.#known.set(id, shared);
    void shared.answer.then((answer) => {
      if (typeof answer === 'string' || (answer.status >= 300 && answer.status !== NO_GET))
        this.#forget(id, shared);
      else setTimeout(() => this.#forget(id, shared), this.#freshMs).unref();
    });
    return shared;
  }

  #forget(id: string, shared: Shared): void {
    if (this.#known.get(id) === shared) this.#known.delete(id);
  }
}
