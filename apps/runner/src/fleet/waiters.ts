/** Callers that wait until one model runs or will not run. */
export class Waiters {
  readonly #max: number;
  readonly #waiting = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Resolves at the next release, or when aborted. Null: too many are waiting. */
  wait(signal: AbortSignal): Promise<void> | null {
    if (this.#waiting.size >= this.#max) return null;
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      if (signal.aborted) done();
      else signal.addEventListener('abort', done);
    });
  }

  release(): void {
    for (const done of [...this.#waiting]) done();
  }
}
