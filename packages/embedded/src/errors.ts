/** A store could not be found, started or kept running; the message says what to do, for whoever started it. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
  /** The last lines of the program concerned, for who wants to know more than the message says. */
  readonly output: string | undefined;

  constructor(message: string, { output, ...options }: ErrorOptions & { readonly output?: string } = {}) {
    super(message, options);
    this.output = output;
  }
}

/** What a program or the system calls it, and what people do. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|Check free disk space|ENOSPC/i, 'no space left on the device'],
  [/Disk quota exceeded|EDQUOT/i, 'the disk quota is used up'],
  [/Read-only file system|EROFS/i, 'the file system is read-only'],
];

/** Why a program failed, in a line of its own: the well-known cause, else its last complaint, else its last line. */
export function causeIn(output: readonly string[]): string | undefined {
  const text = output.join('\n');
  const plain = PLAIN.find(([pattern]) => pattern.test(text));
  if (plain) return plain[1];
  const complaints = output.flatMap((line) => /(?:FATAL|PANIC|error): +(.+)/i.exec(line)?.[1] ?? []);
  return complaints.at(-1) ?? output.findLast((line) => line.trim() !== '')?.trim();
}

/** Why the system refused a file operation, with the file; undefined: the error is about something else. */
export function systemCause(error: unknown): string | undefined {
  const { code, path, message, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return undefined;
  const plain = PLAIN.find(([pattern]) => pattern.test(code))?.[1];
  const words = plain ?? /^[A-Z0-9]+: ([^,]+)/.exec(message)?.[1] ?? message;
  return path === undefined ? words : `${words} (${path})`;
}
