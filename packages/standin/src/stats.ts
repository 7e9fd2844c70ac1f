export interface ModelStats {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** The answer of `GET /stats`. Only counts and names: no prompt, no answer, no credential. */
export interface Stats {
  /** Completion requests received, including refused ones. */
  readonly calls: number;
  readonly inFlight: number;
  /** The most requests in flight at once, since the last reset. */
  readonly maxInFlight: number;
  /** Calls that wait for a release. */
  readonly held: number;
  /** Calls that ended with a whole answer. */
  readonly answered: number;
  /** Calls that ended with an error status. */
  readonly refused: number;
  /** Calls whose caller went away first. */
  readonly aborted: number;
  /** Calls that the stand-in broke off, as told. */
  readonly brokenOff: number;
  readonly images: number;
  /** Answered calls and their tokens, by model name. */
  readonly models: Readonly<Record<string, ModelStats>>;
  /** The latest request: the names of its members and headers, and some plain values. */
  readonly lastRequest: LastRequest | null;
}

export interface LastRequest {
  readonly members: readonly string[];
  readonly headers: readonly string[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly maxTokens: number;
}

export type CallEnd = 'answered' | 'refused' | 'aborted' | 'brokenOff';

export class StatsKeeper {
  #counts = { calls: 0, maxInFlight: 0, answered: 0, refused: 0, aborted: 0, brokenOff: 0, images: 0 };
  #inFlight = 0;
  #models: Record<string, { calls: number; promptTokens: number; completionTokens: number }> = {};
  #last: LastRequest | null = null;

  /** Returns a function that ends the call. Only its first use counts. */
  begin(): (end: CallEnd) => void {
    this.#counts.calls++;
    this.#inFlight++;
    this.#counts.maxInFlight = Math.max(this.#counts.maxInFlight, this.#inFlight);
    let open = true;
    return (end) => {
      if (!open) return;
      open = false;
      this.#inFlight--;
      this.#counts[end]++;
    };
  }

  read(request: LastRequest, images: number): void {
    this.#last = request;
    this.#counts.images += images;
  }

  answered(model: string, promptTokens: number, completionTokens: number): void {
    this.#models[model] ??= { calls: 0, promptTokens: 0, completionTokens: 0 };
    const stats = this.#models[model];
    stats.calls++;
    stats.promptTokens += promptTokens;
    stats.completionTokens += completionTokens;
  }

  snapshot(): Omit<Stats, 'held'> {
    return {
      ...this.#counts,
      inFlight: this.#inFlight,
      models: structuredClone(this.#models),
      lastRequest: this.#last,
    };
  }

  /** Resets the counts. Requests in flight stay in flight. */
  reset(): void {
    this.#counts = {
      calls: 0,
      maxInFlight: this.#inFlight,
      answered: 0,
      refused: 0,
      aborted: 0,
      brokenOff: 0,
      images: 0,
    };
    this.#models = {};
    this.#last = null;
  }
}
