import type { Logger } from '@tidegate/runtime';
import type { DriverTimings } from '../driver.ts';
import type { PodProblem } from './pods.ts';

interface StartProblemsOptions {
  readonly timings: Pick<DriverTimings, 'podProblemMs'>;
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/**
 * What keeps a workload from starting. It is reported immediately. A problem that is unlikely to
 * pass makes the start hopeless once it has lasted for `podProblemMs`. One that may pass is logged
 * at that point, and again when its reason changes.
 */
export class StartProblems {
  readonly #options: StartProblemsOptions;
  readonly #tell: (reason: string) => void;
  #told = '';
  #logged = '';
  /** Since when there is a problem of this kind. Null: there is none. */
  #since: { readonly lasting: boolean; readonly ms: number } | null = null;

  /** @param tell takes each new reason; empty: nothing keeps it from starting any more */
  constructor(options: StartProblemsOptions, tell: (reason: string) => void) {
    this.#options = options;
    this.#tell = tell;
  }

  /** @param problem what was just found; null: nothing */
  note(problem: PodProblem | null): 'hopeless' | 'bearable' {
    const { timings, nowMs, logger } = this.#options;
    if (!problem || (problem.usual && !problem.lasting)) {
      this.#since = null;
      this.#logged = '';
      this.wait('');
      return 'bearable';
    }
    const { reason, lasting } = problem;
    this.wait(reason);
    if (this.#since?.lasting !== lasting) this.#since = { lasting, ms: nowMs() };
    if (nowMs() - this.#since.ms < timings.podProblemMs) return 'bearable';
    if (lasting) return 'hopeless';
    if (reason !== this.#logged) logger.warn({ reason }, 'a workload cannot start yet');
    this.#logged = reason;
    return 'bearable';
  }

  /** Passes on a reason if it differs from the last one. */
  wait(reason: string): void {
    if (reason === this.#told) return;
    this.#told = reason;
    this.#tell(reason);
  }
}
