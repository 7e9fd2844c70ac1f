/**
 * Why no decision could be made. For logs and metrics only: callers fail closed whatever the
 * reason.
 */
export type UndecidedReason = 'redis' | 'postgres' | 'overloaded' | 'state' | 'bad_call';

export interface UndecidedOptions extends ErrorOptions {
  readonly notRun?: boolean;
}

/** The limiter could not decide. The message contains no key value and no content. */
export class Undecided extends Error {
  override readonly name = 'Undecided';
  readonly reason: UndecidedReason;
  /** Whether it is certain that nothing was written. */
  readonly notRun: boolean;

  constructor(reason: UndecidedReason, message: string, options: UndecidedOptions = {}) {
    super(`${reason}: ${message}`, options);
    this.reason = reason;
    this.notRun = options.notRun ?? false;
  }
}
