import type { Logger } from './logger.ts';

/** Something that may stop working for a while, and is retried until it works again. */
export interface Outage {
  /** @param about further fields of the log line */
  failed(err: unknown, about?: object): void;
  worked(): void;
}

/**
 * Logs when something begins to fail and when it works again, once each, however often it is tried.
 *
 * @param message such as `the lease could not be renewed`
 */
export function createOutage(log: Pick<Logger, 'info' | 'warn'>, message: string): Outage {
  let sinceMs: number | null = null;
  return {
    failed(err, about = {}) {
      if (sinceMs === null) log.warn({ ...about, err }, `${message}: trying again`);
      sinceMs ??= performance.now();
    },
    worked() {
      if (sinceMs === null) return;
      const seconds = Math.round((performance.now() - sinceMs) / 1_000);
      sinceMs = null;
      log.info({ seconds }, `resolved: ${message}`);
    },
  };
}
