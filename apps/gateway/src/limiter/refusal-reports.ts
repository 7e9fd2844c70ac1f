import { type ErrorCode, REFUSAL_REPORT_MAX, type RefusalCause } from '@tidegate/contracts';
import { HOUR_MS } from '@tidegate/limits';
import type { RefusalCount, ReportRefusals } from '@tidegate/rpc';
import { within } from '@tidegate/runtime';

/** Reports are sent this often while there is something to report. */
const EVERY_MS = 5_000;
/** A report is retried for an hour. */
const MAX_TRIES = HOUR_MS / EVERY_MS;

/** A refused request that came with a valid key. */
export interface RefusedRequest {
  readonly orgId: string;
  readonly keyId: string;
  /** Null: refused before a model was found. */
  readonly modelId: string | null;
  readonly code: ErrorCode;
  /** The limit that refused, if one did. */
  readonly cause: RefusalCause | null;
}

export interface RefusalReportsOptions {
  /** Names this process in its reports. */
  readonly gatewayId: string;
  /** Resolves to false if it is not certain that the report was written. */
  readonly send: (report: ReportRefusals) => Promise<boolean>;
  /** Unix time. */
  readonly nowMs: () => number;
  readonly everyMs?: number;
  /** How many counts may wait. A refusal that would need one more is not recorded. */
  readonly maxWaiting?: number;
  readonly onUnrecorded: (refusals: number) => void;
}

/**
 * Counts refused requests by key, model, cause and hour, and reports the counts to the limiter,
 * which writes them to Postgres. No decision and no usage depends on them.
 *
 * One report is under way at a time. It is sent again, unchanged and under the same number, until a
 * limiter has written it, for an hour at most. So it counts once. A process that is killed loses
 * the refusals of its last seconds. While nothing is refused, nothing runs.
 */
export class RefusalReports {
  readonly #options: Required<RefusalReportsOptions>;
  readonly #waiting = new Map<string, RefusalCount & { refusals: number }>();
  #report: ReportRefusals | null = null;
  #sequence = 0;
  #tries = 0;
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: RefusalReportsOptions) {
    this.#options = { everyMs: EVERY_MS, maxWaiting: 20_000, ...options };
  }

  /** Refusals counted here that may not be written yet. */
  get unreported(): number {
    return sumOf(this.#waiting.values()) + sumOf(this.#report?.counts ?? []);
  }

  count({ orgId, keyId, modelId, code, cause }: RefusedRequest): void {
    const { nowMs, maxWaiting, onUnrecorded } = this.#options;
    const hourMs = Math.floor(nowMs() / HOUR_MS) * HOUR_MS;
    const name = `${keyId} ${modelId} ${cause ?? code} ${hourMs}`;
    const known = this.#waiting.get(name);
    if (known) {
      known.refusals++;
      return;
    }
    if (this.#waiting.size >= maxWaiting) {
      onUnrecorded(1);
      return;
    }
    const count = { orgId, keyId, modelId: modelId ?? '', code, cause: cause ?? '', hourMs, refusals: 1 };
    this.#waiting.set(name, count);
    this.#sendLater();
  }

  /**
   * Sends what is counted. Resolves when everything is written, when an attempt fails, or after
   * `timeoutMs`.
   */
  async close(timeoutMs: number): Promise<void> {
    this.stop();
    // A send that was already under way may leave something behind.
    const sent = this.#send().then(() => this.#send());
    await within(sent, timeoutMs, undefined);
  }

  /** Stops sending automatically. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #sendLater(): void {
    if (this.#stopped) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#send();
    }, this.#options.everyMs);
  }

  #send(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Sends one report after the other, until nothing is left or one fails. */
  async #run(): Promise<void> {
    for (let report = this.#next(); report; report = this.#next()) {
      if (!(await this.#options.send(report))) {
        if (++this.#tries >= MAX_TRIES) this.#giveUp(report);
        return this.#sendLater();
      }
      this.#done();
    }
  }

  #next(): ReportRefusals | null {
    if (this.#report || this.#waiting.size === 0) return this.#report;
    const counts: RefusalCount[] = [];
    for (const [name, count] of this.#waiting) {
      if (counts.length === REFUSAL_REPORT_MAX) break;
      counts.push(count);
      this.#waiting.delete(name);
    }
    this.#report = { gatewayId: this.#options.gatewayId, sequence: ++this.#sequence, counts };
    return this.#report;
  }

  #giveUp({ counts = [] }: ReportRefusals): void {
    this.#options.onUnrecorded(sumOf(counts));
    this.#done();
  }

  #done(): void {
    this.#report = null;
    this.#tries = 0;
  }
}

function sumOf(counts: Iterable<RefusalCount>): number {
  let sum = 0;
  for (const { refusals = 0 } of counts) sum += refusals;
  return sum;
}
