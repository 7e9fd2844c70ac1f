/**
 * Why no decision could be made. For logs and metrics only: callers fail closed whatever the
 * reason.
 */
export const LIMITER_ERROR_REASONS = ['redis', 'postgres', 'overloaded', 'state', 'bad_call'] as const;
export type LimiterErrorReason = (typeof LIMITER_ERROR_REASONS)[number];

export interface LimiterErrorOptions extends ErrorOptions {
  readonly notRun?: boolean;
}

/** The limiter could not decide. The message contains no key value and no content. */
export class LimiterError extends Error {
  override readonly name = 'LimiterError';
  readonly reason: LimiterErrorReason;
  /** Whether it is certain that nothing was written. */
  readonly notRun: boolean;

  constructor(reason: LimiterErrorReason, message: string, options: LimiterErrorOptions = {}) {
    super(`${reason}: ${message}`, options);
    this.reason = reason;
    this.notRun = options.notRun ?? false;
  }
}
