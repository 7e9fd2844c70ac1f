import type { Call__Output } from '@tidegate/rpc';
import type { Logger } from '@tidegate/runtime';
import { LimiterError } from './limiter-error.ts';
import type { LimiterMetrics } from './metrics.ts';
import { requestIdOf } from './session/ids.ts';

/** Minimum time between two log lines about Postgres, since every call that needs it fails. */
const WARN_EVERY_MS = 10_000;

/** Counts and logs what failed. */
export class Failures {
  readonly #logger: Logger;
  readonly #metrics: LimiterMetrics;
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(logger: Logger, metrics: LimiterMetrics) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** @param call the one that failed, if it was a call of a session */
  readonly report = (error: unknown, call?: Call__Output): void => {
    this.#metrics.failed(error instanceof LimiterError ? error.reason : 'internal');
    if (!(error instanceof LimiterError))
      this.#logger.error({ err: error, requestId: call && requestIdOf(call) }, 'a call failed');
    else if (error.reason === 'postgres') this.warnOfPostgres(error);
  };

  warnOfPostgres(error: LimiterError): void {
    const nowMs = performance.now();
    if (nowMs - this.#warnedAtMs < WARN_EVERY_MS) return;
    this.#warnedAtMs = nowMs;
    // Do not log the cause: the driver's message may contain a statement's parameters.
    this.#logger.warn(
      { reason: error.message },
      'Postgres cannot be used: only requests that Redis alone can decide are served',
    );
  }
}
