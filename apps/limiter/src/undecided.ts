/** Why no decision could be made. For logs and metrics; callers fail closed whatever it is. */
export type UndecidedReason = 'redis' | 'postgres' | 'overloaded' | 'state' | 'bad_call';

/** The limiter could not decide. Its message holds no key value and no content. */
export class Undecided extends Error {
  override readonly name = 'Undecided';
  readonly reason: UndecidedReason;

  constructor(reason: UndecidedReason, message: string, options?: ErrorOptions) {
    super(`${reason}: ${message}`, options);
    this.reason = reason;
  }
}
