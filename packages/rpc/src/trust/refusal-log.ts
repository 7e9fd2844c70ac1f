import type { CallRefusal } from './guard.ts';

export interface WarningLog {
  warn(fields: object, message: string): void;
}

const EVERY_MS = 60_000;
/** Pairs of peer and cause to remember. While there are that many, new ones are not logged. */
const MAX_REMEMBERED = 1_000;

/** Logs refused calls, for each peer and cause at most once a minute. */
export function logRefusals(
  log: WarningLog,
  nowMs: () => number = () => performance.now(),
): (refusal: CallRefusal, peer: string) => void {
  const loggedMs = new Map<string, number>();
  return ({ details }, peer) => {
    const now = nowMs();
    // Without the port, which differs from connection to connection.
    const address = peer.replace(/:\d+$/, '');
    const cause = `${address} ${details}`;
    for (const [oldest, atMs] of loggedMs) {
      if (now - atMs < EVERY_MS) break;
      loggedMs.delete(oldest);
    }
    if (loggedMs.has(cause) || loggedMs.size >= MAX_REMEMBERED) return;
    loggedMs.set(cause, now);
    log.warn({ peer: address, reason: details }, 'a call was refused');
  };
}
