import { explainPostgres } from '@tidegate/db';
import { LimiterError } from '../limiter-error.ts';

export interface ReadThroughOptions {
  /** How many reads may run at once. */
  readonly maxRunning: number;
  /** How many reads may wait for a place. Beyond that they fail. */
  readonly maxWaiting: number;
  readonly timeoutMs: number;
}

/**
 * Reads Postgres on behalf of many callers. Callers that ask for the same thing share one read. Few
 * reads run at once, and each ends within a time limit that includes its wait. A read that hangs
 * keeps its place until the database client gives it up. Rejects with LimiterError.
 */
export class ReadThrough {
  readonly #options: ReadThroughOptions;
  readonly #shared = new Map<string, Promise<unknown>>();
  /** Reads waiting for a place, in order. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(options: ReadThroughOptions) {
    this.#options = options;
  }

  /** @param name what is read; callers with the same name share the read */
  read<T>(name: string, load: () => Promise<T>): Promise<T> {
    const shared = this.#shared.get(name);
    if (shared) return shared as Promise<T>;
    const promise = this.#load(load).finally(() => this.#shared.delete(name));
    this.#shared.set(name, promise);
    return promise;
  }

  async #load<T>(load: () => Promise<T>): Promise<T> {
    const gaveUp = new AbortController();
    const work = this.#waitForPlace(gaveUp.signal).then(() => load().finally(() => this.#next()));
    try {
      return await readWithin(work, this.#options.timeoutMs);
    } finally {
      gaveUp.abort();
    }
  }

  /** Resolves when this read may run. Rejects if nobody waits for the read any more. */
  async #waitForPlace(gaveUp: AbortSignal): Promise<void> {
    if (this.#running < this.#options.maxRunning) {
      this.#running++;
      return;
    }
    if (this.#waiting.size >= this.#options.maxWaiting)
      throw new LimiterError('overloaded', 'too many reads of Postgres are waiting');
    await new Promise<void>((resolve, reject) => {
      this.#waiting.add(resolve);
      gaveUp.addEventListener('abort', () => {
        if (this.#waiting.delete(resolve))
          reject(new LimiterError('postgres', 'a read of Postgres waited too long'));
      });
    });
  }

  /** Passes the place to the next read, or gives it back. */
  #next(): void {
    const [waiting] = this.#waiting;
    if (waiting) {
      this.#waiting.delete(waiting);
      waiting();
    } else this.#running--;
  }
}

async function readWithin<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new LimiterError('postgres', 'no answer in time')), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } catch (cause) {
    if (cause instanceof LimiterError) throw cause;
    // Do not include the driver's message: it may contain a statement's parameters.
    const reason = explainPostgres(cause) ?? (cause instanceof Error ? cause.name : 'unknown error');
    throw new LimiterError('postgres', reason, { cause });
  } finally {
    clearTimeout(timer);
  }
}
