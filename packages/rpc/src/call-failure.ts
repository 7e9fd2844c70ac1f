const NO_CONNECTION = /No connection established\. Last error: (?:Error: )?(.*?)\. Resolution note: ?(.*)$/s;

/** The library appends how the time was spent. */
const LATE = /^Deadline exceeded/;
/** What the library says when the other side ends a call that is in progress. */
const CANCELLED = 'Call cancelled';

/**
 * Why a call failed, for logs: what the other service says, or why there is no connection to it.
 *
 * @param error what a gRPC client rejects with, or any other error
 */
export function callFailure(error: unknown): string {
  const { details, message } = (error ?? {}) as { readonly details?: unknown; readonly message?: unknown };
  const text = String(details || message || error);
  if (LATE.test(text)) return 'no answer in time';
  if (text === CANCELLED) return 'the other service ended the call';
  const [, lastError, note] = NO_CONNECTION.exec(text) ?? [];
  if (lastError === undefined) return text;
  return ['no connection', lastError, note].filter((part) => part && part !== 'null').join(': ');
}
