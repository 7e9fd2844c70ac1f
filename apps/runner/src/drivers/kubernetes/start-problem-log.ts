import type { Logger } from '@tidegate/runtime';
import type { DriverTimings } from '../driver.ts';
import type { PodProblem } from './pods.ts';

interface StartProblemLogOptions {
  readonly timings: Pick<DriverTimings, 'podProblemMs'>;
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/**
 * Logs a passing problem that keeps a workload from starting: once it has lasted for
 * `podProblemMs`, and again when its reason changes. One that will not pass fails the start and
 * becomes its reason.
 */
export class StartProblemLog {
  readonly #options: StartProblemLogOptions;
  /** Null: there is no problem. */
  #sinceMs: number | null = null;
  #logged = '';

  constructor(options: StartProblemLogOptions) {
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
