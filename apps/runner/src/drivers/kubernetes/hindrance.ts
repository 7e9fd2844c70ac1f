import type { Logger } from '@tidegate/runtime';
import type { DriverTimings } from '../driver.ts';
import type { PodProblem } from './pods.ts';

interface HindranceOptions {
  readonly timings: Pick<DriverTimings, 'podProblemMs'>;
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/**
 * Logs what keeps a workload from starting and may pass: once it has stood for `podProblemMs`, and
 * again when its reason changes. What lasts ends the start, and is told as its reason.
 */
export class Hindrance {
  readonly #options: HindranceOptions;
  /** Null: nothing hinders it. */
  #sinceMs: number | null = null;
  #logged = '';

  constructor(options: HindranceOptions) {
    this.#options = options;
  }

  /** @param problem what was just found; null: nothing */
  note(problem: PodProblem | null): void {
    const { timings, nowMs, logger } = this.#options;
    if (!problem || problem.lasting || problem.usual) {
      this.#sinceMs = null;
      this.#logged = '';
      return;
    }
    const { reason } = problem;
    this.#sinceMs ??= nowMs();
    if (nowMs() - this.#sinceMs < timings.podProblemMs || reason === this.#logged) return;
    this.#logged = reason;
    logger.warn({ reason }, 'a workload cannot start yet');
  }
}
