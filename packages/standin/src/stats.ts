export interface ModelStats {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** What `GET /stats` answers. Counts and names only: no prompt, no answer, no credential. */
export interface Stats {
  /** Completion requests received, refused ones included. */
  readonly calls: number;
  readonly inFlight: number;
  /** The most requests in flight at once, since the last reset. */
  readonly maxInFlight: number;
  /** Ended with a whole answer. */
  readonly answered: number;
  /** Ended with an error status. */
  readonly refused: number;
  /** The caller went away first. */
  readonly aborted: number;
  /** Broken off by the stand-in, as told. */
  readonly brokenOff: number;
  readonly images: number;
  /** Answered tokens by model name. */
  readonly models: Readonly<Record<string, ModelStats>>;
  /** Of the newest request: which members and headers came, and some plain values. */
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

  /** Returns how to end the call; only the first end counts. */
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

  snapshot(): Stats {
    return {
      ...this.#counts,
      inFlight: this.#inFlight,
      models: structuredClone(this.#models),
      lastRequest: this.#last,
    };
  }

  /** Counts begin again; requests in flight stay in flight. */
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
