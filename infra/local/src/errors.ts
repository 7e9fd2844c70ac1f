/**
 * An error that the user can act on. It is shown as a message, the end of a log and a hint, without
 * a stack trace.
 */
export class StackError extends Error {
  override readonly name = 'Failure';
  /** What to do. */
  readonly hint: string | undefined;
  /** The last lines of the log. */
  readonly output: string | undefined;

  constructor(message: string, more: { hint?: string; output?: string; cause?: unknown } = {}) {
    super(message, { cause: more.cause });
    this.hint = more.hint;
    this.output = more.output;
  }
}
