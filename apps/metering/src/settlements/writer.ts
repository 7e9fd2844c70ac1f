import type { Settlement } from '@tidegate/contracts';
import { isDataError } from './data-error.ts';

export interface WriterOptions {
  /** Commits settlements, each exactly once. Returns how many were new. */
  readonly commit: (settlements: readonly Settlement[]) => Promise<number>;
  /** The most settlements in one transaction. */
  readonly maxRows: number;
  readonly onCommit: (settlements: readonly Settlement[], fresh: number, durationMs: number) => void;
  readonly monotonicMs: () => number;
}

export interface InvalidSettlement {
  readonly data: Settlement;
  readonly reason: string;
}

interface WaitingBatch {
  readonly settlements: readonly Settlement[];
  readonly resolve: (invalid: InvalidSettlement[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: settlements that arrive while a transaction runs are written together by the next
 * one. So transactions grow with the load, and an idle system does not wait. The callers bound what
 * is waiting, because each waits for its own settlements.
 */
export class SettlementWriter {
  readonly #options: WriterOptions;
  #waiting: WaitingBatch[] = [];
  #running = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /**
   * Resolves, once the settlements are committed, to those that Postgres can never take. Rejects if
   * it is not known whether all of them were written. Then it is safe to write them again.
   */
  write(settlements: readonly Settlement[]): Promise<InvalidSettlement[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ settlements, resolve, reject });
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Waits one turn of the event loop, so that jobs that were fetched together are written
    // together.
    await new Promise(setImmediate);
    for (let group = this.#take(); group.length > 0; group = this.#take()) await this.#writeGroup(group);
    this.#running = false;
  }

  #take(): WaitingBatch[] {
    let rows = 0;
    let length = 0;
    for (const { settlements } of this.#waiting) {
      if (length > 0 && rows + settlements.length > this.#options.maxRows) break;
      rows += settlements.length;
      length++;
    }
    return this.#waiting.splice(0, length);
  }

  async #writeGroup(group: readonly WaitingBatch[]): Promise<void> {
    try {
      const invalid = await this.#commit(group.flatMap(({ settlements }) => settlements));
      const byData = new Map(invalid.map((one) => [one.data, one]));
      for (const { settlements, resolve } of group) {
        resolve(settlements.flatMap((settlement) => byData.get(settlement) ?? []));
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  /**
   * Splits what Postgres refuses into halves, until only the refused settlements are left. Commits
   * the others.
   */
  async #commit(settlements: readonly Settlement[]): Promise<InvalidSettlement[]> {
    const { commit, onCommit, monotonicMs } = this.#options;
    const startedMs = monotonicMs();
    try {
      const fresh = await commit(settlements);
      onCommit(settlements, fresh, monotonicMs() - startedMs);
      return [];
    } catch (error) {
      if (!isDataError(error)) throw error;
      const [first] = settlements;
      if (settlements.length === 1 && first) return [{ data: first, reason: 'Postgres refuses this data' }];
      const half = settlements.length >> 1;
      return [
        ...(await this.#commit(settlements.slice(0, half))),
        ...(await this.#commit(settlements.slice(half))),
      ];
    }
  }
}
