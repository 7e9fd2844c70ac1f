import { setTimeout as sleep } from 'node:timers/promises';
import type { Settlement, SettlementRef } from '@tidegate/contracts';

const MAX_A_CALL = 1_000;
const MAX_WAITING = 50_000;
const TRIES = 3;
const RETRY_MS = 200;

export interface ConfirmerOptions {
  /** Confirms to one limiter. Rejects when it could not be reached. */
  readonly confirm: (refs: readonly SettlementRef[]) => Promise<void>;
  readonly onDropped: (count: number, error: unknown) => void;
}

/**
 * Confirms commits to the limiter, in order, without holding up the work. After a few failures a
 * confirmation is dropped. Then the limiter publishes the settlement again, metering finds it
 * written, and confirms again.
 */
export class Confirmer {
  readonly #options: ConfirmerOptions;
  #waiting: SettlementRef[] = [];
  #running: Promise<void> | undefined;
  #draining = false;

  constructor(options: ConfirmerOptions) {
    this.#options = options;
  }

  add(settlements: readonly Settlement[]): void {
    const room = MAX_WAITING - this.#waiting.length;
    if (settlements.length > room)
      this.#options.onDropped(settlements.length - room, new Error('too many confirmations are waiting'));
    for (const { orgId, outboxId } of settlements.slice(0, room)) this.#waiting.push({ orgId, outboxId });
    if (this.#waiting.length > 0) this.#running ??= this.#run();
  }

  /** Resolves when nothing is waiting. From now on a failed confirmation is not tried again. */
  async drain(): Promise<void> {
    this.#draining = true;
    await this.#running;
  }

  /** Called only while something is waiting. Otherwise it would end before `#running` is set. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const refs = this.#waiting.splice(0, MAX_A_CALL);
      await this.#send(refs);
    }
    this.#running = undefined;
  }

  async #send(refs: readonly SettlementRef[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#options.confirm(refs);
      } catch (error) {
        if (this.#draining) return this.#dropAll(refs.length, error);
        if (attempt === TRIES) return this.#options.onDropped(refs.length, error);
        await sleep(RETRY_MS * attempt);
      }
    }
  }

  #dropAll(sending: number, error: unknown): void {
    this.#options.onDropped(sending + this.#waiting.length, error);
    this.#waiting = [];
  }
}
