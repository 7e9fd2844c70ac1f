/** A store could not be found, started or kept running. The message says what to do. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
  /** The last lines that the program printed, for users who want more detail than the message. */
  readonly output: string | undefined;

  constructor(message: string, { output, ...options }: ErrorOptions & { readonly output?: string } = {}) {
    super(message, options);
    this.output = output;
  }
}

/** Error messages and codes of programs and systems, with plain words for them. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|Check free disk space|ENOSPC/i, 'no space left on the device'],
  [/Disk quota exceeded|EDQUOT/i, 'the disk quota is used up'],
  [/Read-only file system|EROFS/i, 'the file system is read-only'],
];

/**
 * Finds in a program's output why it failed: a known cause, else its last error message, else its
 * last line.
 */
export function causeIn(output: readonly string[]): string | undefined {
  const text = output.join('\n');
  const plain = PLAIN.find(([pattern]) => pattern.test(text));
  if (plain) return plain[1];
  const complaints = output.flatMap((line) => /(?:FATAL|PANIC|error): +(.+)/i.exec(line)?.[1] ?? []);
  return complaints.at(-1) ?? output.findLast((line) => line.trim() !== '')?.trim();
}

/**
 * Why the system refused a file operation, and on which file. Undefined: the error is about
 * something else.
 */
export function systemCause(error: unknown): string | undefined {
  const { code, path, message, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return undefined;
  const plain = PLAIN.find(([pattern]) => pattern.test(code))?.[1];
  const words = plain ?? /^[A-Z0-9]+: ([^,]+)/.exec(message)?.[1] ?? message;
  return path === undefined ? words : `${words} (${path})`;
}
