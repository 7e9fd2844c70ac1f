/** A store could not be found, started or kept running; the message says what to do, for whoever started it. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
}
